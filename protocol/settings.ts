import { z } from 'zod';
import { approvalRuleSchema } from './approval-rules.ts';
import type { AgentId } from './ids.ts';
import { limitsSchema } from './limits.ts';
import { mcpServersSchema } from './mcp-servers.ts';
import { MODEL_RETRY_MAX_MS } from './model-retry.ts';
import { PROJECT_DOC_BYTES_MAX, projectDocsSchema } from './project-docs.ts';
import { sandboxModeSchema } from './sandbox-modes.ts';

export const APPROVAL_POLICIES = ['untrusted', 'on-request', 'never'] as const;
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const DIALECTS = ['collab', 'named', 'sessions', 'mailbox'] as const;

export const approvalPolicySchema = z.enum(APPROVAL_POLICIES);
export const reasoningEffortSchema = z.enum(REASONING_EFFORTS);
export const dialectSchema = z.enum(DIALECTS);
export type ApprovalPolicy = z.infer<typeof approvalPolicySchema>;
export type ReasoningEffort = z.infer<typeof reasoningEffortSchema>;
export type Dialect = z.infer<typeof dialectSchema>;

const WITH_CREDENTIALS = /^\w+:\/\/[^/?#]*@/;

/** `[model_providers.NAME]`: where a model is reached. Keys never stand here, only the variable that holds one. */
export const providerSettingsSchema = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .refine((url) => !WITH_CREDENTIALS.test(url), {
      error: 'no user or password may stand in it: what is written here is not kept secret; see env_key',
    })
    .optional(),
  env_key: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'the name of an environment variable, not the key itself')
    .optional()
    .describe('The environment variable that holds the key'),
  wire_api: z
    .enum(['responses', 'chat'])
    .optional()
    .describe('Default: responses, and chat where that answers 404'),
  models: z
    .array(z.string().min(1))
    .optional()
    .describe('The models on offer; default: asked of the provider'),
  reasoning_efforts: z
    .record(z.string().min(1), z.array(reasoningEffortSchema).min(1))
    .optional()
    .describe(
      'The efforts that a model takes, by its name or a glob; default: those known of OpenAI, else all',
    ),
  context_windows: z
    .record(z.string().min(1), z.int().positive())
    .optional()
    .describe(
      'How many tokens of a conversation a model takes, by its name or a glob; default: those known of OpenAI',
    ),
  script: z.string().min(1).optional().describe('A script that plays the model (file), see docs/scripts.md'),
});
export type ProviderSettings = z.infer<typeof providerSettingsSchema>;

/** The variables that hold the keys of providers, whatever their names look like: no command gets them. */
export function keyVariables(providers: Readonly<Record<string, ProviderSettings>>): string[] {
  return Object.values(providers).flatMap(({ env_key: name }) => (name === undefined ? [] : [name]));
}

/** The providers that always exist. `rehearsal` plays the built-in script, `script` the one named by `script`. */
export const BUILTIN_PROVIDERS = ['openai', 'rehearsal', 'script'] as const;

/** The model of OpenAI that is used when none is named: the middle one of its current line. */
export const DEFAULT_OPENAI_MODEL = 'gpt-5.6-terra';

/** `[sandbox]`: what `workspace-write` opens, for a root and all below it. */
export const sandboxSchema = z.strictObject(
  {
    writable_roots: z
      .array(z.string().startsWith('/', { error: 'it has to be an absolute path' }))
      .default([])
      .describe('Folders that commands may also write to; one that is missing is left out'),
    network: z.boolean().default(false).describe('Commands reach the network'),
  },
  {
    error: ({ code }) =>
      code === 'invalid_type'
        ? 'it is a table (writable_roots, network); did you mean sandbox_mode?'
        : undefined,
  },
);

/** `[tools]`: switches for tools of a session. */
export const toolTogglesSchema = z.strictObject({
  plan: z.boolean().default(true),
  view_image: z.boolean().default(true),
  web_search: z.boolean().default(false),
  subagent_tools: z.boolean().default(true),
});
export type ToolToggles = z.infer<typeof toolTogglesSchema>;

/**
 * What all agents of a session share; held by the root, read by activities through the `_session` query, and
 * never changed after the start.
 */
export const sessionSettingsSchema = z.strictObject({
  /** The environment of commands, filtered at the start; absent for queued sessions: the worker's then. */
  environment: z.record(z.string(), z.string()).optional(),
  model_providers: z.record(z.string(), providerSettingsSchema).default({}),
  model_aliases: z.record(z.string(), z.string()).default({}),
  tools: toolTogglesSchema.prefault({}),
  /** Search attributes that the namespace knows; others are left out of every upsert. */
  search_attributes: z.array(z.string()).default([]),
  /** Closes by itself when it and everything below has settled. */
  one_shot: z.boolean().default(false),
  /** With `one_shot`: agents that still run at the end of the root's turn are waited for. */
  wait_agents: z.boolean().default(true),
  /** Nobody can be asked: what needs an approval is refused at once. */
  non_interactive: z.boolean().default(true),
  /**
   * Its agents have a memory: in this file, or where none is named, as for a queued session, in that of whoever works
   * for it.
   */
  memory: z.strictObject({ path: z.string().min(1).optional() }).optional(),
  /** Its rollout is written when it closes, where the worker has a place for it. */
  rollout: z.boolean().optional(),
  /** How many bytes of AGENTS.md files its agents are told at most; absent or 0: none. */
  project_doc_max_bytes: z.int().nonnegative().max(PROJECT_DOC_BYTES_MAX).optional(),
  /** Commands that a person has allowed in advance. */
  approval_rules: z.array(approvalRuleSchema).optional(),
  /** Servers of tools; absent for queued sessions: the worker's then. Of keys only the names of variables stand here. */
  mcp_servers: mcpServersSchema.optional(),
  /** JSON schema that the root's final answer has to follow. */
  output_schema: z.record(z.string(), z.unknown()).optional(),
});
export type SessionSettings = z.infer<typeof sessionSettingsSchema>;
/** The same as a program gives it: what has a default may be left out. */
export type SessionSettingsInput = z.input<typeof sessionSettingsSchema>;

/** Which tools an agent may use. Every list of `allow` has to match; names or globs. */
export const toolPolicySchema = z.strictObject({
  allow: z.array(z.array(z.string())).default([]),
  deny: z.array(z.string()).default([]),
  /** No tool with effects, whatever it is called, but for commands: those are held by the sandbox. */
  read_only: z.literal(true).optional(),
});
export type ToolPolicy = z.infer<typeof toolPolicySchema>;

/** What one agent is: the effective values, after call, persona, role and inheritance. */
export const agentSettingsSchema = z.strictObject({
  role: z.string().min(1).default('default'),
  persona: z.string().optional(),
  /** Replaces the role's own text. */
  instructions: z.string().optional(),
  /**
   * What the file of the role says, as it was when the agent was started: so it is told the same for as long as it
   * lives, on every worker. Absent for roles that come with Cadre.
   */
  role_text: z
    .strictObject({ path: z.string(), body: z.string(), persona: z.string().optional() })
    .optional(),
  /**
   * The memory file, and the newest notes in it, as they were when the agent was started: so it is told the same for as
   * long as it lives. Absent where memory is off.
   */
  memory: z.strictObject({ path: z.string(), text: z.string().optional() }).optional(),
  /** What the project says in whose folder it was started, as it was then. Absent where there is nothing, or it is off. */
  project_docs: projectDocsSchema.optional(),
  /** Its instructions end with its task, the first message that it has got. No child inherits this. */
  task_in_instructions: z.boolean().optional(),
  /** It is to hand back its results in sections (`result-sections.ts`). No child inherits this. */
  result_sections: z.boolean().optional(),
  /** It was opened as a helper: its instructions hold guidance on its scope. No child inherits this. */
  scoped: z.boolean().optional(),
  model: z.string().min(1),
  /** The model was named for this very root: it goes before that of its role. */
  model_named: z.literal(true).optional(),
  provider: z.string().min(1),
  reasoning_effort: reasoningEffortSchema.optional(),
  working_directory: z.string().min(1),
  sandbox_mode: sandboxModeSchema.default('workspace-write'),
  /** What `workspace-write` opens beside the working directory and `/tmp`: nothing where absent. */
  sandbox: sandboxSchema.optional(),
  approval_policy: approvalPolicySchema.default('on-request'),
  dialect: dialectSchema.default('collab'),
  tool_policy: toolPolicySchema.prefault({}),
  limits: limitsSchema
    .refine((limits) => limits.wait_min_ms <= limits.wait_max_ms, {
      error: 'it is above wait_max_ms',
      path: ['wait_min_ms'],
    })
    .prefault({}),
  /** How long failing model calls are tried again, in ms. */
  model_retry_ms: z.int().nonnegative().max(MODEL_RETRY_MAX_MS).default(600_000),
  /** Its model calls go to a queue of their own (`modelQueue`), and so do those of all agents below it. */
  model_queue: z.boolean().optional(),
});
export type AgentSettings = z.infer<typeof agentSettingsSchema> & {
  presented?: Presented;
};
export type AgentSettingsInput = z.input<typeof agentSettingsSchema>;

/**
 * What the model of a forked agent is shown, so that its requests begin as those of the agent it was forked from, and
 * the provider's prefix cache serves them: the other's instructions and tools. What it may do is its own settings' say.
 */
export interface Presented {
  agent_id: AgentId;
  depth: number;
  settings: AgentSettings;
}

/** Where an agent comes from. */
export type Source =
  | { kind: 'cli' | 'exec' | 'api' | 'mcp' | 'app-server' }
  | { kind: 'sub_agent'; parent_id: string; depth: number };
