import { z } from 'zod';
import type { ErrorBody } from './errors.ts';
import type { AgentEvent } from './events.ts';
import { type AgentId, agentIdSchema } from './ids.ts';
import type { Item } from './items.ts';
import { heldEventSchema, rolloutStateSchema } from './rollout-state.ts';
import { agentSettingsSchema, type Presented, sessionSettingsSchema } from './settings.ts';
import { statusSchema } from './status.ts';

/**
 * A rollout is what a session leaves outside of Temporal: lines of JSON. First the header, then for each agent, the
 * root first and parents before their children, what is needed to show and to resume it, then the outputs that its
 * conversations name by handles, and an end that proves that all of it is there.
 *
 * The number counts up when a reader of the last one would take a file for something that it is not. What is only added
 * does not count: readers leave fields alone that they do not know, but for settings, which they refuse: an agent must
 * not come back with less to hold it than it had.
 */
export const ROLLOUT_FORMAT = 1;

export const rolloutHeaderSchema = z.looseObject({
  type: z.literal('rollout'),
  format: z.int().positive(),
  session_id: agentIdSchema,
  /** When it was written, ISO 8601; all else stays the same however often a rollout is read and written. */
  written_at: z.iso.datetime(),
  /** The version of Cadre that has collected it. */
  cadre: z.string(),
  /** The task queue that the session lived on. */
  queue: z.string().min(1),
  /** The lines below are sealed; each names its key. */
  sealed: z.literal(true).optional(),
});
export type RolloutHeader = z.infer<typeof rolloutHeaderSchema>;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const identitySchema = z.looseObject({
  agent_id: agentIdSchema,
  session_id: agentIdSchema,
  parent_id: agentIdSchema.optional(),
  depth: z.int().nonnegative(),
  source: z.union([
    z.looseObject({ kind: z.enum(['cli', 'exec', 'api', 'mcp', 'app-server']) }),
    z.looseObject({ kind: z.literal('sub_agent'), parent_id: z.string(), depth: z.int() }),
  ]),
  name: z.string().optional(),
  started_at: z.iso.datetime().optional(),
  call_id: z.string().optional(),
  task: z.string(),
  search_attributes: z.array(z.string()),
});

/** An agent, as its `snapshot` shows it. */
export const rolloutAgentSchema = z.looseObject({
  type: z.literal('agent'),
  /** The run that has answered: under this name an agent that is brought back finds what it was. */
  run_id: z.string().min(1),
  identity: identitySchema,
  settings: agentSettingsSchema.extend({ presented: z.custom<Presented>(isObject).optional() }),
  /** At the root only. */
  session: sessionSettingsSchema.optional(),
  status: statusSchema,
  closed: z.boolean(),
  note: z.string().optional(),
  open_children: z.array(agentIdSchema),
  reports: z.int().nonnegative(),
  /** How many items follow. */
  items: z.int().nonnegative(),
  /** With an empty conversation: the items follow. */
  state: rolloutStateSchema,
});
export type RolloutAgent = z.infer<typeof rolloutAgentSchema>;

const text = z.string();
const itemSchemas = {
  user_message: z.looseObject({
    type: z.literal('user_message'),
    content: z.array(z.looseObject({ type: text })),
  }),
  assistant_message: z.looseObject({ type: z.literal('assistant_message'), text }),
  reasoning: z.looseObject({ type: z.literal('reasoning'), summary: text }),
  tool_call: z.looseObject({ type: z.literal('tool_call'), call_id: text, name: text, arguments: text }),
  tool_output: z.looseObject({
    type: z.literal('tool_output'),
    call_id: text,
    output: text,
    success: z.boolean(),
    handle: text.optional(),
  }),
  notice: z.looseObject({ type: z.literal('notice'), text }),
  summary: z.looseObject({
    type: z.literal('summary'),
    text,
    replaced: z.looseObject({
      items: z.int(),
      user_messages: z.int(),
      answers: z.int(),
      answers_since: z.int(),
    }),
  }),
} satisfies Record<Item['type'], z.ZodType>;

const itemSchema = z.discriminatedUnion('type', [
  itemSchemas.user_message,
  itemSchemas.assistant_message,
  itemSchemas.reasoning,
  itemSchemas.tool_call,
  itemSchemas.tool_output,
  itemSchemas.notice,
  itemSchemas.summary,
]);

export const rolloutItemSchema = z.looseObject({
  type: z.literal('item'),
  agent_id: agentIdSchema,
  /** From 0. */
  index: z.int().nonnegative(),
  item: itemSchema,
  /** Image files that the item names, as they were when the rollout was written: their content is not in it. */
  images: z.array(z.looseObject({ path: text, sha256: text })).optional(),
});
export interface RolloutItem {
  type: 'item';
  agent_id: AgentId;
  index: number;
  item: Item;
  images?: { path: string; sha256: string }[];
}

/** An item that a summary has replaced: to be read, not to be brought back. Those of an agent stand in their order. */
export const rolloutReplacedSchema = z.looseObject({
  type: z.literal('replaced'),
  agent_id: agentIdSchema,
  /** The run that has replaced it. */
  run_id: text,
  item: itemSchema,
});
export interface RolloutReplaced {
  type: 'replaced';
  agent_id: AgentId;
  run_id: string;
  item: Item;
}

export const rolloutEventSchema = z.looseObject({ type: z.literal('event'), event: heldEventSchema });
export interface RolloutEvent {
  type: 'event';
  event: AgentEvent;
}

/** An output that was too long for a conversation: as text where it is text, else in base64, or why it is not here. */
export const rolloutOutputSchema = z.looseObject({
  type: z.literal('output'),
  handle: z.string().regex(/^h_[0-9a-f]{32}$/),
  text: text.optional(),
  base64: z.base64().optional(),
  left_out: text.optional(),
});
export type RolloutOutput = z.infer<typeof rolloutOutputSchema>;

/** An agent of the session of which nothing was left to be written down. */
export const rolloutMissingSchema = z.looseObject({
  type: z.literal('missing'),
  agent_id: agentIdSchema,
  reason: text,
});
export type RolloutMissing = z.infer<typeof rolloutMissingSchema>;

/** Digest over the header, but for when it was written and how it is kept, and over each line between. */
export const rolloutEndSchema = z.looseObject({
  type: z.literal('end'),
  agents: z.int().nonnegative(),
  lines: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type RolloutEnd = z.infer<typeof rolloutEndSchema>;

/** What stands between header and end. */
export type RolloutBody =
  | RolloutAgent
  | RolloutItem
  | RolloutReplaced
  | RolloutEvent
  | RolloutOutput
  | RolloutMissing;
export type RolloutLine = RolloutHeader | RolloutBody | RolloutEnd;

/** The lines by their type; the header stands apart, since it says how to read the others. */
export const rolloutLineSchemas = {
  agent: rolloutAgentSchema,
  item: rolloutItemSchema,
  replaced: rolloutReplacedSchema,
  event: rolloutEventSchema,
  output: rolloutOutputSchema,
  missing: rolloutMissingSchema,
  end: rolloutEndSchema,
} as const;

/** Activity `write_rollout`, asked for by the root of a session that has closed. */
export interface RolloutRequest {
  session_id: z.infer<typeof agentIdSchema>;
}
/** Not written by a worker that has no place for rollouts. */
export interface RolloutAnswer {
  written: boolean;
}

/** Activity `archive_agent`: an agent that has closed, with all below it, into a file of its own. */
export interface ArchiveRequest {
  session_id: z.infer<typeof agentIdSchema>;
  agent_id: z.infer<typeof agentIdSchema>;
  /** Whoever asks for it: what it may write, and where from. */
  writer: Pick<z.infer<typeof agentSettingsSchema>, 'working_directory' | 'sandbox_mode' | 'sandbox'>;
  /** A file that does not exist yet, or a folder; default: beside the rollouts. */
  archive_to?: string;
  /** Nothing is written: could it be? */
  only_check?: true;
}
/** Null where the worker, or the session, leaves no rollouts and the call names no place. */
export type ArchiveAnswer = { ok: true; path: string | null } | { ok: false; error: ErrorBody };
