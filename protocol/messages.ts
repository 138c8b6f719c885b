import { z } from 'zod';
import { explain } from './explain.ts';
import { AGENT_ID_MAX, agentIdSchema, NAMED_ID_MAX } from './ids.ts';
import { messagePartsSchema, messageTextSchema, REASON_MAX, requireOneMessage } from './message-size.ts';
import { noteSchema } from './note.ts';
import { boundedText, NAME_MAX } from './text-length.ts';

/** Names of what a person may send from the Temporal Web UI or CLI. */
export const WORKFLOW_TYPE = 'agent';

export const SIGNALS = { sendInput: 'send_input', interrupt: 'interrupt', shutdown: 'shutdown' } as const;
export const UPDATES = {
  sendInput: 'send_input',
  interrupt: 'interrupt',
  shutdown: 'shutdown',
  setNote: 'set_note',
  compact: 'compact',
  decideApproval: 'decide_approval',
  operate: '_operate',
} as const;
export const QUERIES = {
  status: 'status',
  tree: 'tree',
  items: 'items',
  events: 'events',
  snapshot: 'snapshot',
  approvals: 'approvals',
  outcome: '_outcome',
  session: '_session',
  settings: '_settings',
} as const;

/** How many ids of inputs an agent remembers, to know one that is sent again. */
export const INPUT_IDS_KEPT = 2_000;

const reason = boundedText(REASON_MAX).optional();

export const sendInputSchema = z
  .strictObject({
    message: messageTextSchema.optional(),
    items: messagePartsSchema.optional(),
    interrupt: z.boolean().optional().describe('Stop the running turn first'),
    own_turn: z
      .boolean()
      .optional()
      .describe('Where a turn is running, wait for its end, and begin one instead of joining it'),
    from: boundedText(AGENT_ID_MAX).optional().describe('The agent that sends it; a person leaves this out'),
    id: boundedText(NAMED_ID_MAX)
      .min(1)
      .optional()
      .describe(`The same id twice is delivered once: an agent remembers the newest ${INPUT_IDS_KEPT} ids`),
  })
  .superRefine(requireOneMessage);
export type SendInput = z.infer<typeof sendInputSchema>;
/** Who has sent it, under which id, where that was an agent; whatever the rest is like. */
export const sentByAgentSchema = z
  .object({ from: agentIdSchema, id: boundedText(NAMED_ID_MAX) })
  .refine(({ from, id }) => id.startsWith(`${from}#`));
/** The same as people send it: a bare string is the message. */
export const sendInputPayloadSchema = z.preprocess(
  (payload) => (typeof payload === 'string' ? { message: payload } : payload),
  sendInputSchema,
);

export const interruptSchema = z.strictObject({
  reason,
  from: boundedText(AGENT_ID_MAX)
    .optional()
    .describe('The agent that passes its own interrupt on; a person leaves this out'),
});
export type Interrupt = z.infer<typeof interruptSchema>;
export const shutdownSchema = z.strictObject({ reason });
export type Shutdown = z.infer<typeof shutdownSchema>;

/** Asks for the conversation to be summarised before the next model call. */
export const compactSchema = z.strictObject({});

export const setNoteSchema = z.strictObject({ note: noteSchema });

export interface SubmissionAnswer {
  submission_id: string;
}
export interface NoteAnswer extends SubmissionAnswer {
  thread_note: string | null;
}

/** What a payload becomes that could not be decoded; the handler then records `input.rejected`. */
export interface Undecodable {
  undecodable: {
    encoding: string;
    reason: string;
    /** Of a payload that is sealed: the key that is missing. */
    key_id?: string | undefined;
  };
}
const undecodableSchema = z.object({
  undecodable: z.object({ encoding: z.string(), reason: z.string(), key_id: z.string().optional() }),
});
export function isUndecodable(value: unknown): value is Undecodable {
  return undecodableSchema.safeParse(value).success;
}

/** Why a payload is still sealed, where it only lacks the key; undefined for whatever else it is. */
export function sealedReason(value: unknown): { key_id: string; reason: string } | undefined {
  if (!isUndecodable(value)) return undefined;
  const { key_id, reason } = value.undecodable;
  return key_id === undefined ? undefined : { key_id, reason };
}

/** Checks a payload from outside; never throws. A bare string counts as the message of `send_input`. */
export function parsePayload<T>(
  schema: z.ZodType<T>,
  payload: unknown,
): { ok: true; value: T } | { ok: false; reason: string } {
  if (isUndecodable(payload)) {
    const { encoding, reason: why } = payload.undecodable;
    return { ok: false, reason: `the payload could not be decoded (encoding ${encoding}): ${why}` };
  }
  if (ArrayBuffer.isView(payload))
    return { ok: false, reason: 'Invalid input: expected object, received bytes' };
  const result = schema.safeParse(payload);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, reason: explain(result.error) };
}

/**
 * Operations that a client asks of an agent and that take time: the update `_operate` answers at once with the id under
 * which the query `_outcome` tells what has come of it.
 */
const operationId = boundedText(NAMED_ID_MAX).min(1).optional().describe('The same id twice is done once');
export const operateSchema = z.discriminatedUnion('operation', [
  /** Asked of the root: brings back a closed agent of its session, and with `recursive` what was open below it. */
  z.strictObject({
    operation: z.literal('resume'),
    id: operationId,
    agent_id: boundedText(AGENT_ID_MAX).min(1),
    recursive: z.boolean().default(false),
  }),
  /** Asked of any agent: a tool call as if its model had made it; arguments as JSON text. */
  z.strictObject({
    operation: z.literal('call'),
    id: operationId,
    tool: boundedText(NAME_MAX).min(1),
    arguments: messageTextSchema,
  }),
]);
export type Operate = z.infer<typeof operateSchema>;
export interface OperateAnswer {
  operation_id: string;
}
export const outcomeQuerySchema = z.strictObject({ operation_id: boundedText(NAMED_ID_MAX) });
/** `pending` until it is done. `output` is the text that a model would have seen. */
export type OperateOutcome =
  | { state: 'pending' }
  | { state: 'done'; success: boolean; output: string }
  | { state: 'unknown' };

/**
 * The most that one answer to Cadre itself holds, as JSON: a payload may take 2 MiB, and not every text gets smaller on
 * the way. To read a closed agent costs a replay of it each time, so that few large pages are better than many small.
 */
export const LARGE_PAGE_BYTES = 1_500_000;
export const itemsQuerySchema = z.strictObject({
  from: z.int().nonnegative().optional(),
  to: z.int().nonnegative().optional(),
  replaced: z.boolean().optional().describe('Those that a summary has replaced in this run, instead'),
  bytes: z.int().positive().max(LARGE_PAGE_BYTES).optional().describe('Of the page; default: 400 KiB'),
});
export type ItemsQuery = z.infer<typeof itemsQuerySchema>;
export const eventsQuerySchema = z.strictObject({ after: z.int().nonnegative().optional() });
