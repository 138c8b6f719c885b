import { z } from 'zod';

const VARIABLE = /^[A-Za-z_]\w*$/;
const WITH_CREDENTIALS = /\w:\/\/[^/?#\s]*:[^/?#\s]*@/;
const NOT_KEPT_SECRET = 'what is written here is not kept secret';
/** As those that no command gets (`SECRET_NAMES`); a pattern, since the schema has to say which name it was. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD/i;
/** Of a call, where none is set; long enough for a browser, short enough to notice. */
export const MCP_CALL_MS = 120_000;
/** Time for `npx` to bring a server the first time. */
export const MCP_START_MS = 30_000;
/** What a timer of Node takes. */
const MOST_MS = 2_147_483_647;

const name = z.string().min(1);
const variable = z.string().regex(VARIABLE, 'the name of an environment variable, not the key itself');
const withoutNul = z.string().refine((text) => !text.includes('\0'), { error: 'contains a NUL byte' });
const harmless = withoutNul.refine((text) => !WITH_CREDENTIALS.test(text), {
  error: `no password may stand in it: ${NOT_KEPT_SECRET}; pass a variable with env_vars`,
});
const globs = (text: string) => z.array(name).optional().describe(text);

/** Prefix of the tools of a server; a name that holds two underscores in a row could be taken for another's. */
export const mcpServerName = z
  .string()
  .regex(/^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$/, 'letters and digits, with single - or _ between them')
  .max(30);

/** `[mcp_servers.NAME]`: a server of tools. Keys never stand here, only the variables that hold them. */
export const mcpServerSchema = z.strictObject({
  command: withoutNul
    .min(1)
    .optional()
    .describe('The program that is the server; it talks over its input and output'),
  args: z.array(harmless).optional(),
  env: z
    .record(
      z
        .string()
        .regex(VARIABLE, 'no name of an environment variable')
        .refine((name) => !SECRET_NAME.test(name), {
          error: `it looks like a key, and ${NOT_KEPT_SECRET}: set the variable where Cadre runs, and name it in env_vars`,
        }),
      harmless,
    )
    .optional()
    .describe('Variables for it, beside those that commands get; no keys'),
  env_vars: z
    .array(variable)
    .optional()
    .describe('Variables that it gets from where Cadre runs although they look like keys'),
  cwd: name
    .optional()
    .describe(
      'Where it runs; default: the home directory. A relative one is below the working directory of the session',
    ),
  url: z
    .url({ protocol: /^https?$/ })
    .refine((url) => !/^\w+:\/\/[^/?#]*@/.test(url), {
      error: `no user or password may stand in it: ${NOT_KEPT_SECRET}; see bearer_token_env_var`,
    })
    .optional()
    .describe('Where it is reached by streamable HTTP, in place of command'),
  bearer_token_env_var: variable.optional().describe('The variable that holds the token for url'),
  env_http_headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'no name of a header'), variable)
    .optional()
    .describe('Headers for url, each by the variable that holds its value'),
  tools_allow: globs('Its tools that are offered, names or globs; default: all'),
  tools_deny: globs('Its tools that are not offered, names or globs'),
  tools_read_only: globs(
    'Its tools that you know to change nothing, names or globs; roles that only read get no others',
  ),
  tools_approved: globs(
    'Its tools that may be called without asking under the policy on-request, names or globs',
  ),
  timeout_ms: z.int().positive().max(MOST_MS).optional().describe('Of a call; default: 120,000'),
  start_timeout_ms: z
    .int()
    .positive()
    .max(MOST_MS)
    .optional()
    .describe('Until it has listed its tools; default: 30,000'),
});
export type McpServerSettings = z.infer<typeof mcpServerSchema>;

/** The settings that belong to one of the two ways to reach a server. */
export const OF_COMMAND = ['args', 'env', 'env_vars', 'cwd'] as const;
export const OF_URL = ['bearer_token_env_var', 'env_http_headers'] as const;

export const mcpServersSchema = z.record(
  mcpServerName,
  mcpServerSchema.refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'a server needs either command or url',
  }),
);
export type McpServers = Readonly<Record<string, McpServerSettings>>;

/** The variables that hold what servers are reached with, whatever their names look like: no command gets them. */
export function mcpKeyVariables(servers: McpServers = {}): string[] {
  return Object.values(servers).flatMap(({ bearer_token_env_var: token, env_http_headers: headers = {} }) => [
    ...(token === undefined ? [] : [token]),
    ...Object.values(headers),
  ]);
}
