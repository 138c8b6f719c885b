import { ApplicationFailure } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate, patched, setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { decideApprovalSchema, decided } from '../protocol/approvals.ts';
import { explain } from '../protocol/explain.ts';
import { isAgentId, sessionOf } from '../protocol/ids.ts';
import type {
  ApprovalsView,
  DecisionAnswer,
  ErrorBody,
  NoteAnswer,
  OperateAnswer,
  SendInput,
  SubmissionAnswer,
} from '../protocol/index.ts';
import { INTERNAL_SIGNAL, mailSchema } from '../protocol/internal.ts';
import {
  compactSchema,
  eventsQuerySchema,
  interruptSchema,
  itemsQuerySchema,
  operateSchema,
  outcomeQuerySchema,
  parsePayload,
  QUERIES,
  SIGNALS,
  sendInputPayloadSchema,
  sentByAgentSchema,
  setNoteSchema,
  shutdownSchema,
  UPDATES,
} from '../protocol/messages.ts';
import type { AgentState } from './agent-state.ts';
import { decide } from './approval-desk.ts';
import { takeNote } from './operations/note.ts';
import { followWaiting } from './orders.ts';
import { OPERATIONS_MAX } from './outcomes.ts';
import { requireReadable } from './readable.ts';
import { snapshotPage } from './restore.ts';

/**
 * What the agent takes from outside. Handlers are synchronous and only enqueue: that, and the drain before
 * continue-as-new, is what loses nothing. A bad payload never fails a workflow task: it is recorded, or rejected.
 */
export function registerHandlers(agent: AgentState): void {
  registerSignals(agent);
  registerUpdates(agent);
  registerQueries(agent);
}

function registerSignals(agent: AgentState): void {
  const accept = <T>(
    name: string,
    schema: z.ZodType<T>,
    take: (value: T) => void,
    refuse: (payload: unknown) => void = () => {},
  ) => {
    setHandler(defineSignal<[unknown]>(name), (payload) => {
      if (name === INTERNAL_SIGNAL) requireReadable(payload);
      const parsed = parsePayload(schema, payload);
      if (parsed.ok) take(parsed.value);
      else {
        agent.emit({ type: 'input.rejected', signal: name, reason: parsed.reason });
        refuse(payload);
      }
    });
  };
  accept(
    SIGNALS.sendInput,
    sendInputPayloadSchema,
    (input) => {
      const reason = strangeSender(agent, input);
      if (reason === undefined || !patched(KNOWN_SENDERS)) void takeInput(agent, input);
      else agent.emit({ type: 'input.rejected', signal: SIGNALS.sendInput, reason });
    },
    (payload) => {
      const sender = sentByAgentSchema.safeParse(payload);
      if (sender.success) agent.orders.push({ type: 'refused_input', ...sender.data });
    },
  );
  // People send these two from Temporal's own tools, often without any argument.
  accept(SIGNALS.interrupt, interruptSchema.prefault({}), ({ reason = 'interrupted by a person', from }) => {
    const along = from !== undefined && from === agent.identity.parent_id;
    agent.orders.push({ type: 'interrupt', reason, ...(along ? { along } : {}) });
  });
  accept(SIGNALS.shutdown, shutdownSchema.prefault({}), ({ reason }) => {
    agent.orders.push({ type: 'shutdown', reason: reason ?? 'closed by a person' });
  });
  accept(INTERNAL_SIGNAL, mailSchema.array(), (mails) => {
    for (const mail of mails) agent.orders.push({ type: 'mail', mail });
  });
}

/** Agents of before took input whoever was said to have sent it. */
const KNOWN_SENDERS = 'input-of-known-senders';

/** Why nobody can have sent that under the name which it bears: the model would be told that an agent has. */
function strangeSender({ identity }: AgentState, { from }: SendInput): string | undefined {
  const { session_id: session } = identity;
  if (from === undefined || (isAgentId(from) && sessionOf(from) === session)) return undefined;
  return `from: expected the id of an agent of session ${session}; a person leaves it out`;
}

function takeInput(agent: AgentState, input: SendInput): string {
  followWaiting(agent);
  const id = input.id ?? agent.nextId('inputs');
  if (agent.closing !== undefined) {
    agent.emit({ type: 'input.rejected', signal: SIGNALS.sendInput, reason: `agent ${agent.id} is closed` });
    return id;
  }
  const content = input.items ?? [{ type: 'text' as const, text: input.message ?? '' }];
  const from = input.from === undefined ? {} : { from: input.from };
  const own = input.own_turn === true ? { own_turn: true as const } : {};
  if (!agent.inbox.accept({ id, content, ...from, ...own })) return id;
  agent.emit({ type: 'input.accepted', submission_id: id, ...from });
  if (input.interrupt === true) {
    agent.orders.push({ type: 'interrupt', reason: 'interrupted by new input', forInput: true });
    // At once: the turn that this input starts is not the one to stop.
    followWaiting(agent);
  }
  return id;
}

function registerUpdates(agent: AgentState): void {
  const define = <T, R>(
    name: string,
    schema: z.ZodType<T>,
    take: (value: T) => R,
    check: (value: T) => void = () => {},
  ) => {
    const validated = (payload: unknown): T => {
      const parsed = parsePayload(schema, payload);
      if (!parsed.ok) throw refusal({ code: 'invalid_arguments', message: `${name}: ${parsed.reason}` });
      return parsed.value;
    };
    setHandler(
      defineUpdate<R, [unknown]>(name),
      (payload) => {
        const value = validated(payload);
        // Mail that came before it goes before it, also where a worker that takes over gets the two together.
        followWaiting(agent);
        return take(value);
      },
      {
        validator: (payload) => {
          check(validated(payload));
          if (agent.closing !== undefined) {
            throw refusal({
              code: 'agent_closed',
              message: `agent ${agent.id} is closed`,
              hint: `Bring it back with: cadre resume ${agent.id}`,
            });
          }
        },
      },
    );
  };
  define(
    UPDATES.sendInput,
    sendInputPayloadSchema,
    (input): SubmissionAnswer => ({ submission_id: takeInput(agent, input) }),
    // Here alone: what agents of before have taken is not checked again when they are replayed.
    (input) => {
      const reason = strangeSender(agent, input);
      if (reason === undefined) return;
      throw refusal({ code: 'invalid_arguments', message: `${UPDATES.sendInput}: ${reason}` });
    },
  );
  define(UPDATES.interrupt, interruptSchema.prefault({}), ({ reason }): SubmissionAnswer => {
    agent.orders.push({ type: 'interrupt', reason: reason ?? 'interrupted by a person' });
    return { submission_id: agent.nextId('inputs') };
  });
  define(UPDATES.shutdown, shutdownSchema.prefault({}), ({ reason }) => {
    agent.orders.push({ type: 'shutdown', reason: reason ?? 'closed by a person' });
    const { status, message } = agent.standing;
    return { submission_id: agent.nextId('inputs'), status, ...(message === undefined ? {} : { message }) };
  });
  define(
    UPDATES.decideApproval,
    decideApprovalSchema,
    (decision): DecisionAnswer => {
      const [approval, ...others] = decide(agent, decision);
      if (approval === undefined) throw unknownQuestion(decision.approval_id);
      return {
        submission_id: agent.nextId('inputs'),
        ...decided(approval, decision),
        answers_too: others.map((other) => other.approval_id),
      };
    },
    ({ approval_id: id }) => requireQuestion(agent, id),
  );
  define(
    UPDATES.operate,
    operateSchema,
    (request): OperateAnswer => {
      const id = request.id ?? agent.nextId('requests');
      if (agent.operations.has(id)) return { operation_id: id };
      agent.operations.begin(id);
      agent.orders.push({ type: 'operate', id, request });
      return { operation_id: id };
    },
    () => requireRoom(agent),
  );
  define(UPDATES.compact, compactSchema.prefault({}), (): SubmissionAnswer => {
    agent.conversation.compact = 'requested';
    agent.conversation.notCompacted = undefined;
    return { submission_id: agent.nextId('inputs') };
  });
  define(UPDATES.setNote, setNoteSchema, ({ note }): NoteAnswer => {
    const kept = takeNote(agent, note);
    return { submission_id: agent.nextId('inputs'), thread_note: kept ?? null };
  });
}

/** What clients ask for waits for nobody, so it is bounded here. */
function requireRoom(agent: AgentState): void {
  if (!agent.operations.isFull) return;
  throw refusal({
    code: 'limit_operations',
    message: `${OPERATIONS_MAX} operations of clients are under way at agent ${agent.id}, the most there may be`,
    hint: 'Ask again when some have ended.',
    retryable: true,
  });
}

/** Decisions are made at the root, where the questions are. */
function requireQuestion(agent: AgentState, id: string): void {
  if (agent.tree === undefined) {
    const { session_id: root } = agent.identity;
    throw refusal({
      code: 'not_permitted',
      message: `approvals of this session are decided at its root ${root}`,
      hint: `Send the decision to ${root}.`,
    });
  }
  if (!agent.tree.approvals.has(id)) throw unknownQuestion(id);
}

function unknownQuestion(id: string): ApplicationFailure {
  return refusal({
    code: 'approval_not_found',
    message: `there is no open approval ${id}: it was decided, or its turn has ended`,
    hint: 'Look at those that are open: cadre approvals',
  });
}

/** Whole for programs, and in one sentence for those who read it in Temporal's own tools. */
function refusal(body: ErrorBody): ApplicationFailure {
  const { code, message, hint } = body;
  return ApplicationFailure.create({
    message: hint === undefined ? message : `${message}. ${hint}`,
    type: code,
    nonRetryable: true,
    details: [body],
  });
}

function registerQueries(agent: AgentState): void {
  const page = <T>(schema: z.ZodType<T>, payload: unknown): T => {
    const result = schema.safeParse(payload ?? {});
    if (!result.success) throw new Error(explain(result.error));
    return result.data;
  };
  setHandler(defineQuery(QUERIES.status), () => agent.view);
  setHandler(defineQuery(QUERIES.tree), () => agent.treeView);
  setHandler(defineQuery<unknown, [unknown]>(QUERIES.items), (payload) => {
    const { from, to, bytes, replaced } = page(itemsQuerySchema, payload);
    return agent.conversation.page(from, to, bytes, replaced);
  });
  setHandler(defineQuery<unknown, [unknown]>(QUERIES.events), (payload) =>
    agent.events.page(page(eventsQuerySchema, payload).after),
  );
  setHandler(defineQuery<unknown, [unknown]>(QUERIES.snapshot), (payload) => {
    return snapshotPage(agent, page(itemsQuerySchema, payload));
  });
  setHandler(defineQuery<unknown, [unknown]>(QUERIES.outcome), (payload) =>
    agent.operations.outcome(page(outcomeQuerySchema, payload).operation_id),
  );
  setHandler(
    defineQuery(QUERIES.approvals),
    (): ApprovalsView => ({
      approvals: agent.tree?.approvals.pending ?? [...agent.questions.values()],
    }),
  );
  setHandler(defineQuery(QUERIES.session), () => agent.session ?? null);
  setHandler(defineQuery(QUERIES.settings), () => agent.settings);
}
