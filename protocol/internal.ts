import { z } from 'zod';
import { APPROVAL_KINDS, type Approval, DECISIONS, type Verdict } from './approvals.ts';
import type { BudgetAnswer, BudgetRequest } from './budget.ts';
import { ERROR_CODES, type ErrorBody } from './errors.ts';
import { type AgentId, agentIdSchema } from './ids.ts';
import { noteSchema } from './note.ts';
import { type Status, statusSchema } from './status.ts';
import type { Usage } from './usage.ts';
import type { AgentView } from './views.ts';

/** How a turn came to its end; the agent itself may be on its way to the next one by then, or closed. */
export interface EndedTurn {
  turn: number;
  status: Extract<Status, 'completed' | 'errored' | 'interrupted'>;
  /** Left out where the view beside it says it. */
  message?: string;
  duration_ms: number;
  /** What the model took in this turn; absent where that is not known. */
  usage?: Usage;
  /** It was interrupted since its parent was, which knows: that is no reason for the parent to go on. */
  along?: true;
}

/** The same with all that is told of it. */
export type ToldEnd = EndedTurn & { message: string };

/** An agent tells its parent and its root that its status changed. */
export interface Report {
  view: AgentView;
  /** Counts up over the agent's whole life, so that an older report never replaces a newer one. */
  seq: number;
  /** The tool call that spawned it. */
  call_id?: string;
  /** With the first report after a turn has ended, and only with that. */
  ended?: EndedTurn;
  /** For each agent that sent it input, the newest that was delivered to its model, by id. */
  taken: string[];
}

/** What a descendant asks of the root's slot ledger. */
export type SlotRequest =
  /**
   * The right to work for `agent_id`; the answer goes to `from`. `spawn` holds the view of an agent to be started, which
   * works at once, unless its view says that it is idle.
   */
  | {
      kind: 'reserve';
      request_id: string;
      agent_id: AgentId;
      from: AgentId;
      queue: boolean;
      spawn?: AgentView;
    }
  /** `agent_id`, for which a spawn was granted or queued, has not come into being. */
  | { kind: 'cancel_spawn'; agent_id: AgentId }
  /** `agent_id` waits for others and needs no slot meanwhile. */
  | { kind: 'lend'; agent_id: AgentId }
  /** `agent_id` is about to work; what it has lent it gets back before all that is queued. */
  | { kind: 'reclaim'; request_id: string; agent_id: AgentId; from: AgentId }
  /**
   * `agent_id` works no longer and cannot say so itself; `life`: the one that has ended, as `lifeOf` its reports. Closed
   * without a life is what an orphan supposes of its parent.
   */
  | { kind: 'release'; agent_id: AgentId; closed: boolean; life?: number; from?: AgentId }
  /** Nothing below `agent_id`, which has ended itself in that life, runs any more. */
  | { kind: 'release_below'; agent_id: AgentId; life: number };

export type SlotAnswer =
  | { request_id: string; outcome: 'granted' }
  | { request_id: string; outcome: 'queued' }
  | { request_id: string; outcome: 'refused'; error: ErrorBody };

/** Who is meant by these references? Asked of the root, which knows every agent of the session. */
export interface Lookup {
  request_id: string;
  from: AgentId;
  references: string[];
  /** Send later reports of what was found to `from`, too, until it gives that up (`unwatch`) under this request's id. */
  watch: boolean;
}
export interface LookupAnswer {
  request_id: string;
  found: { reference: string; candidates: AgentId[]; report?: Report }[];
}

/** Close yourself and all below you; answered by `Acknowledge` twice: at once, and when it is done. */
export interface CloseRequest {
  request_id: string;
  from: AgentId;
  reason: string;
  /** Keep the last status instead of `shutdown`: the session ends by itself. */
  keep_status: boolean;
}
export interface Acknowledge {
  request_id: string;
  done: boolean;
  closed: AgentId[];
  not_closed?: NotClosed[];
  /** How it stood when it was asked to close; its parent knows the words. */
  before?: { status: Status; message?: string };
}

/** An agent that was to be closed, answers nothing, and cannot be terminated. */
export interface NotClosed {
  agent_id: AgentId;
  error: ErrorBody;
}

/** The live agents of a session, as the root knows them. */
export interface ListRequest {
  request_id: string;
  from: AgentId;
  scope: 'children' | 'descendants' | 'all';
  include_closed: boolean;
}
export interface ListAnswer {
  request_id: string;
  agents: AgentView[];
  slots: { used: number; max: number };
  /** How many more there are: all of them would not fit into one signal. */
  left_out?: number;
}

/** Names of what agents of one session send each other; the underscore marks them as internal. */
export const INTERNAL_SIGNAL = '_mail';

export type Mail =
  | { type: 'report'; report: Report }
  | { type: 'slot'; request: SlotRequest }
  | { type: 'slot_answer'; answer: SlotAnswer }
  | { type: 'lookup'; lookup: Lookup }
  | { type: 'lookup_answer'; answer: LookupAnswer }
  /** The wait is over for which agents were watched since that look-up. */
  | { type: 'unwatch'; request_id: string; from: AgentId }
  | { type: 'close'; request: CloseRequest }
  | { type: 'acknowledge'; acknowledge: Acknowledge }
  | { type: 'approval'; approval: Approval }
  | { type: 'approval_withdrawn'; approval_id: string }
  | { type: 'verdict'; verdict: Verdict }
  | { type: 'budget'; request: BudgetRequest }
  | { type: 'budget_answer'; answer: BudgetAnswer }
  | { type: 'list'; request: ListRequest }
  | { type: 'list_answer'; answer: ListAnswer }
  | { type: 'note'; note: string };

const usage = z.looseObject({
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  total_tokens: z.number(),
});
/** All that an agent relies on in what it is told of another one. */
const viewShape = z.looseObject({
  agent_id: agentIdSchema,
  session_id: agentIdSchema,
  parent_id: agentIdSchema.optional(),
  status: statusSchema,
  message: z.string().optional(),
  is_final: z.boolean(),
  closed: z.boolean(),
  turn: z.int(),
  step: z.int(),
  depth: z.int().nonnegative(),
  role: z.string(),
  model: z.string(),
  source: z.looseObject({ kind: z.string() }),
  usage,
  children: z.array(agentIdSchema),
  status_since: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
const view = z.custom<AgentView>((value) => viewShape.safeParse(value).success, { error: 'expected a view' });
const endedTurn: z.ZodType<EndedTurn> = z.looseObject({
  turn: z.int(),
  status: z.enum(['completed', 'errored', 'interrupted']),
  message: z.string().optional(),
  duration_ms: z.number(),
  usage: usage.optional(),
  along: z.literal(true).optional(),
});
const report: z.ZodType<Report> = z.looseObject({
  view,
  seq: z.int(),
  call_id: z.string().optional(),
  ended: endedTurn.optional(),
  taken: z.array(z.string()),
});
const request_id = z.string();
const agent_id = agentIdSchema;
const from = agentIdSchema;
const slotRequest = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('reserve'),
    request_id,
    agent_id,
    from,
    queue: z.boolean(),
    spawn: view.optional(),
  }),
  z.looseObject({ kind: z.literal('cancel_spawn'), agent_id }),
  z.looseObject({ kind: z.literal('lend'), agent_id }),
  z.looseObject({ kind: z.literal('reclaim'), request_id, agent_id, from }),
  z.looseObject({
    kind: z.literal('release'),
    agent_id,
    closed: z.boolean(),
    life: z.int().optional(),
    from: agentIdSchema.optional(),
  }),
  z.looseObject({ kind: z.literal('release_below'), agent_id, life: z.int() }),
]);
const error: z.ZodType<ErrorBody> = z.looseObject({ code: z.enum(ERROR_CODES), message: z.string() });
const slotAnswer = z.discriminatedUnion('outcome', [
  z.looseObject({ outcome: z.literal('granted'), request_id }),
  z.looseObject({ outcome: z.literal('queued'), request_id }),
  z.looseObject({ outcome: z.literal('refused'), request_id, error }),
]);
const approval = z.looseObject({
  approval_id: z.string(),
  asking_id: agentIdSchema,
  role: z.string(),
  call_id: z.string(),
  tool: z.string().optional(),
  requested_at: z.string(),
  kind: z.enum(APPROVAL_KINDS),
  summary: z.string(),
  reason: z.string(),
  key: z.string(),
});
const reference = z.string();
const found = z.looseObject({ reference, candidates: z.array(agentIdSchema), report: report.optional() });

/** Anybody may send the signal; what no agent can have sent must not make one stumble. */
export const mailSchema: z.ZodType<Mail> = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('report'), report }),
  z.looseObject({ type: z.literal('slot'), request: slotRequest }),
  z.looseObject({ type: z.literal('slot_answer'), answer: slotAnswer }),
  z.looseObject({
    type: z.literal('lookup'),
    lookup: z.looseObject({ request_id, from, references: z.array(reference), watch: z.boolean() }),
  }),
  z.looseObject({
    type: z.literal('lookup_answer'),
    answer: z.looseObject({ request_id, found: z.array(found) }),
  }),
  z.looseObject({ type: z.literal('unwatch'), request_id, from }),
  z.looseObject({
    type: z.literal('close'),
    request: z.looseObject({ request_id, from, reason: z.string(), keep_status: z.boolean() }),
  }),
  z.looseObject({
    type: z.literal('acknowledge'),
    acknowledge: z.looseObject({
      request_id,
      done: z.boolean(),
      closed: z.array(agentIdSchema),
      not_closed: z.array(z.looseObject({ agent_id, error })).optional(),
      before: z.looseObject({ status: statusSchema, message: z.string().optional() }).optional(),
    }),
  }),
  z.looseObject({ type: z.literal('approval'), approval }),
  z.looseObject({ type: z.literal('approval_withdrawn'), approval_id: z.string() }),
  z.looseObject({
    type: z.literal('verdict'),
    verdict: z.looseObject({ request_id, decision: z.enum(DECISIONS), reason: z.string().optional() }),
  }),
  z.looseObject({
    type: z.literal('budget'),
    request: z.looseObject({
      request_id,
      from,
      spent: z.number().nonnegative(),
      expected: z.number().nonnegative().optional(),
      shrunk: z.boolean().optional(),
    }),
  }),
  z.looseObject({
    type: z.literal('budget_answer'),
    answer: z.discriminatedUnion('outcome', [
      z.looseObject({ request_id, outcome: z.literal('go'), until: z.number().optional() }),
      z.looseObject({
        request_id,
        outcome: z.enum(['last', 'stop']),
        holder: agentIdSchema,
        used: z.number(),
        limit: z.number(),
      }),
    ]),
  }),
  z.looseObject({
    type: z.literal('list'),
    request: z.looseObject({
      request_id,
      from,
      scope: z.enum(['children', 'descendants', 'all']),
      include_closed: z.boolean(),
    }),
  }),
  z.looseObject({
    type: z.literal('list_answer'),
    answer: z.looseObject({
      request_id,
      agents: z.array(view),
      slots: z.looseObject({ used: z.number(), max: z.number() }),
    }),
  }),
  z.looseObject({ type: z.literal('note'), note: noteSchema }),
]);
