import { z } from 'zod';
import type { AgentEvent } from './events.ts';
import { agentIdSchema } from './ids.ts';
import { statusSchema } from './status.ts';

const text = z.string();
const count = z.int().nonnegative();

/** An event, as far as what reads it relies on it. */
export const heldEventSchema = z.looseObject({
  type: text,
  seq: z.int().positive(),
  at: z.iso.datetime(),
  agent_id: agentIdSchema,
  session_id: agentIdSchema,
});

const waiting = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('input'),
    input: z.looseObject({ id: text, content: z.array(z.looseObject({ type: text })) }),
  }),
  z.looseObject({
    kind: z.literal('notice'),
    notice: z.looseObject({ child: agentIdSchema, turn: z.int(), status: statusSchema, text }),
  }),
]);

const knownAgent = z.looseObject({
  id: agentIdSchema,
  isChild: z.boolean(),
  role: text,
  status: statusSchema,
  message: text,
  turn: z.int(),
  closed: z.boolean(),
  seq: z.int(),
  pending: z.array(text),
});

/**
 * What an agent relies on when it takes its state up again, see `AgentCarry` in workflows/. Whatever lacks any of this
 * would fail its workflow, again and again.
 */
export const rolloutStateSchema = z.looseObject({
  conversation: z.looseObject({
    items: z.array(z.never()),
    digest: text,
    known: z.int().nonnegative(),
    bytes: z.int().nonnegative(),
  }),
  inbox: z.looseObject({
    waiting: z.array(waiting),
    seen: z.array(text),
    taken: z.array(z.tuple([text, text])),
  }),
  commands: z.array(z.looseObject({ id: z.int(), title: text, queue: text.optional() })).optional(),
  children: z.looseObject({
    known: z.array(knownAgent),
    counters: z.record(text, z.int()),
  }),
  events: z.looseObject({
    held: z.array(z.custom<AgentEvent>((event) => heldEventSchema.safeParse(event).success)),
    last: z.int().nonnegative(),
  }),
  standing: z.looseObject({
    status: statusSchema,
    since: z.number(),
    updated: z.number(),
    closed: z.boolean(),
    turn: z.int(),
    step: z.int(),
    turn_started: z.number(),
    usage: z.looseObject({ total_tokens: z.number() }),
    plan: z.array(z.looseObject({ step: text, status: text })),
    approval_missing: z.boolean(),
  }),
  /** At the root only. */
  tree: z
    .looseObject({
      reports: z.array(
        z.looseObject({
          view: z.looseObject({ agent_id: agentIdSchema, closed: z.boolean() }),
          seq: z.int(),
        }),
      ),
      slots: z.looseObject({
        working: z.array(agentIdSchema),
        lent: z.array(agentIdSchema),
        spawned: z.int(),
      }),
    })
    .optional(),
  step: z
    .looseObject({
      plans: z.array(z.looseObject({ kind: text, call_id: text, name: text })),
      outputs: z.array(z.looseObject({ call_id: text, output: text, success: z.boolean() })),
      parked: z.array(z.tuple([text, z.looseObject({ since: z.number() })])),
    })
    .optional(),
  /** Absent where it has none. */
  mailbox: z
    .looseObject({
      sent: z.int(),
      awaited: z.array(z.looseObject({ mail_id: text, subagent_id: agentIdSchema, input_id: text })),
      received: z.array(z.looseObject({ mail_id: text, subagent_id: agentIdSchema, body: text })),
    })
    .optional(),
  orders: z.array(z.looseObject({ type: text })),
  verdicts: z.array(z.looseObject({ request_id: text, decision: text })),
  operations: z.array(z.tuple([text, z.looseObject({ state: text })])),
  counters: z.looseObject({ reports: count, requests: count, inputs: count, approvals: count }),
});
export type RolloutState = z.infer<typeof rolloutStateSchema>;
