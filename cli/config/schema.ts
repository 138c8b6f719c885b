import { z } from 'zod';
import {
  approvalPolicySchema,
  approvalRuleSchema,
  dialectSchema,
  limitsSchema,
  MODEL_RETRY_MAX_MS,
  mcpServerName,
  mcpServerSchema,
  PROJECT_DOC_BYTES_MAX,
  providerSettingsSchema,
  RULE_MAX,
  reasoningEffortSchema,
  sandboxModeSchema,
  sandboxSchema,
  toolTogglesSchema,
} from '../../protocol/index.ts';
import { parseRule } from '../../worker/approval-rules.ts';

const name = z.string().min(1);

const agentsSchema = limitsSchema.extend({
  dialect: dialectSchema.default('collab'),
  profile: z.literal('classic').optional().describe('A built-in set of defaults'),
});

const tlsSchema = z.union([
  z.boolean(),
  z.strictObject({
    disabled: z.boolean().optional(),
    server_name: name.optional(),
    server_ca_cert_path: name.optional(),
    server_ca_cert_data: name.optional(),
    client_cert_path: name.optional(),
    client_cert_data: name.optional(),
    client_key_path: name.optional(),
    client_key_data: name.optional(),
  }),
]);

/** The words of one command. */
const ruleWords = z
  .string()
  .max(RULE_MAX)
  .superRefine((text, context) => {
    const parsed = parseRule(text);
    if (!parsed.ok) context.addIssue({ code: 'custom', message: `no rule: ${parsed.reason}` });
  });

/** A rule is a command, or a table that says where it holds. */
const ruleSchema = z.union([
  ruleWords,
  approvalRuleSchema.extend({
    command: ruleWords,
    folder: z
      .string()
      .regex(/^(\/|~\/)/, 'it has to be absolute, or begin with ~/')
      .optional(),
  }),
]);

const settings = {
  model: name.optional(),
  model_provider: name.optional(),
  model_providers: z.record(name, providerSettingsSchema).default({}),
  model_aliases: z.record(name, name).default({}),
  model_retry_ms: z
    .int()
    .nonnegative()
    .max(MODEL_RETRY_MAX_MS)
    .default(600_000)
    .describe('How long failing model calls are retried'),
  reasoning_effort: reasoningEffortSchema.optional(),
  agents: agentsSchema.prefault({}),
  tools: toolTogglesSchema.prefault({}),
  approval_policy: approvalPolicySchema.default('on-request'),
  approvals: z
    .strictObject({
      allow: z.array(ruleSchema).default([]).describe('Commands that need no approval, by their words'),
    })
    .prefault({}),
  sandbox_mode: sandboxModeSchema.default('workspace-write'),
  sandbox: sandboxSchema.prefault({}),
  shell_environment: z
    .strictObject({
      include: z.array(name).default([]).describe('Names or globs that pass although they look like secrets'),
      exclude: z.array(name).default([]).describe('Further names or globs that commands do not get'),
    })
    .prefault({}),
  memory: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe('Agents are told the notes in the memory file, and may add some'),
      path: name.optional().describe('Default: memory.md in CADRE_HOME'),
    })
    .prefault({}),
  project_doc_max_bytes: z
    .int()
    .nonnegative()
    .max(PROJECT_DOC_BYTES_MAX)
    .default(32_768)
    .describe('How much of AGENTS.md files agents are told at most; 0: nothing'),
  notifications: z
    .strictObject({
      types: z
        .array(name)
        .default(['sub-agent-complete'])
        .describe('What the terminal is rung for; an empty list: nothing'),
      method: z.enum(['auto', 'bel', 'osc9']).default('auto'),
      when: z
        .enum(['unfocused', 'always'])
        .optional()
        .describe('Not set: the terminal is not rung, and its keys are left to whoever comes next'),
    })
    .prefault({}),
  mcp_servers: z.record(mcpServerName, mcpServerSchema).default({}),
  temporal: z
    .strictObject({
      address: name
        .regex(/^(\w+:(\/\/)?)?(\[[\da-f.:]+\]|[^:/\s]+)(:\d{1,5})?$/i, 'it has to be HOST:PORT')
        .optional(),
      namespace: name.optional(),
      task_queue: name.optional().describe('Sessions go to the workers of this queue'),
      model_queue: z
        .boolean()
        .optional()
        .describe('Their model calls go to a queue of their own, see `cadre worker --models`'),
      tls: tlsSchema.optional(),
      api_key: name.optional(),
    })
    .prefault({}),
  rollouts: z
    .strictObject({
      enabled: z.boolean().default(true).describe('A session leaves its rollout when it closes'),
      directory: name
        .optional()
        .describe('Where workers of a queue write those of their sessions; none: nowhere'),
    })
    .prefault({}),
  encryption: z
    .strictObject({
      key_env: name
        .regex(/^[A-Za-z_]\w*$/, 'the name of an environment variable, not the key itself')
        .optional()
        .describe('The environment variable that holds the keys'),
      key_file: name.optional().describe('The file that holds the keys'),
      key_id: name.regex(/^[\w.-]{1,64}$/, 'letters, digits, dots, - and _; at most 64').optional(),
    })
    .optional(),
};

/** `[profiles.NAME]`: any setting, in force when that profile is chosen. */
const profileSchema = z.strictObject(settings);

/** The whole configuration. Every key may be left out. */
export const configSchema = z.strictObject({
  ...settings,
  profile: name.optional().describe('The profile in force when none is named'),
  profiles: z.record(name, profileSchema).default({}),
});
export type Config = z.infer<typeof configSchema>;

/** Keys whose values are paths; in a file they are relative to that file. `*` stands for any name. */
export const PATH_KEYS: readonly string[] = [
  'model_providers.*.script',
  'memory.path',
  'sandbox.writable_roots',
  'encryption.key_file',
  'rollouts.directory',
  'temporal.tls.server_ca_cert_path',
  'temporal.tls.client_cert_path',
  'temporal.tls.client_key_path',
];

/** Keys whose values are never printed. */
export const SECRET_KEYS: readonly string[] = [
  'temporal.api_key',
  'temporal.tls.client_key_data',
  'mcp_servers.*.env.*',
];
