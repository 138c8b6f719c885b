import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import {
  type AgentEvent,
  type AgentId,
  type AgentView,
  type Approval,
  type ApprovalsView,
  CadreError,
  type ContentPart,
  type EventsPage,
  type Item,
  type ItemsPage,
  type KeyRing,
  type NoteAnswer,
  newRootId,
  QUERIES,
  type SendInput,
  type SubmissionAnswer,
  type TreeView,
  UPDATES,
} from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import { AgentLine } from './agent-line.ts';
import { checkedContent } from './checked.ts';
import { closeBelow } from './close-below.ts';
import { asEnded, asListed, type Standing, withoutLost } from './ended-view.ts';
import { startFork } from './fork.ts';
import { isMissing } from './is-missing.ts';
import { operate } from './operate.ts';
import { Pace, Patience } from './polling.ts';
import { bringBack } from './resume.ts';
import { retriesOf } from './retries.ts';
import { streamingOf } from './streamed-text.ts';
import { buildOf, taskFailureOf } from './task-failure.ts';
import type {
  Agent,
  AgentDescription,
  CallResult,
  CloseResult,
  ForkedAgent,
  ForkOptions,
  ResumeOptions,
  ResumeResult,
  SendOptions,
  SessionResult,
  WaitOptions,
} from './types.ts';
import { wholeConversation } from './whole-conversation.ts';
import { withFields } from './with-fields.ts';

/** One agent, reached through Temporal. */
export class AgentHandle implements Agent {
  readonly id: AgentId;
  readonly #client: Client;
  readonly #line: AgentLine;
  readonly #keys: KeyRing | undefined;

  constructor(client: Client, id: AgentId, keys?: KeyRing) {
    this.#client = client;
    this.#keys = keys;
    this.id = id;
    this.#line = new AgentLine(client, id);
  }

  async send(input: string | ContentPart[], options: SendOptions = {}): Promise<SubmissionAnswer> {
    const payload: SendInput = {
      ...(typeof input === 'string' ? { message: input } : { items: input }),
      ...(options.interrupt === undefined ? {} : { interrupt: options.interrupt }),
      id: options.id ?? randomUUID(),
    };
    return this.#line.update<SubmissionAnswer>(UPDATES.sendInput, payload);
  }

  async interrupt(reason?: string): Promise<void> {
    await this.#line.update(UPDATES.interrupt, reason === undefined ? {} : { reason });
  }

  async compact(): Promise<SubmissionAnswer> {
    return this.#line.update<SubmissionAnswer>(UPDATES.compact, {});
  }

  async setNote(note: string): Promise<string | null> {
    return (await this.#line.update<NoteAnswer>(UPDATES.setNote, { note })).thread_note;
  }

  async close(reason?: string): Promise<CloseResult> {
    const before = await this.#line
      .update<Standing>(UPDATES.shutdown, reason === undefined ? {} : { reason })
      .catch((error: unknown) => {
        if (error instanceof CadreError && error.code === 'agent_closed') return undefined;
        if (isMissing(error)) return error;
        throw error;
      });
    if (before instanceof CadreError) {
      // Whoever deletes a running agent leaves what is below it.
      const closed = await this.#closeBelow();
      if (closed.length === 0) throw before;
      return { status: 'errored', message: 'it was deleted', closed };
    }
    const execution = before === undefined ? await this.#line.describe() : undefined;
    if (execution !== undefined && !isStillThere(execution.status.name)) {
      // Whoever is left is ended also where nobody is there to tell how it stood.
      const ended = this.status().catch((error: unknown) => asListed(error, execution));
      const [standing, closed] = await Promise.all([ended, this.#closeBelow()]);
      return { ...standingOf(standing), closed };
    }
    // It may be closing already, for somebody else.
    const standing = before ?? (await this.status());
    const { closed, not_closed } = await this.#line.result();
    return { ...standingOf(standing), closed, ...(not_closed === undefined ? {} : { not_closed }) };
  }

  #closeBelow(): Promise<AgentId[]> {
    return closeBelow(this.#client, this.id, (id) => new AgentHandle(this.#client, id));
  }

  async status(): Promise<AgentView> {
    const { status: execution } = await this.#line.describe();
    const view = await this.#line.query<AgentView>(QUERIES.status);
    return asEnded(view, execution.name);
  }

  async tree(): Promise<TreeView> {
    const { status: execution } = await this.#line.describe();
    const tree = await this.#line.query<TreeView>(QUERIES.tree);
    const [own, ...others] = tree.agents;
    if (own === undefined) return tree;
    const end = asEnded(own, execution.name);
    return { ...tree, agents: [end, ...(end === own ? others : await withoutLost(this.#client, others))] };
  }

  items(range: { from?: number; to?: number } = {}): Promise<ItemsPage> {
    return this.#line.query<ItemsPage>(QUERIES.items, range);
  }

  wholeConversation(): AsyncGenerator<Item> {
    return wholeConversation(this.#line);
  }

  async approvals(): Promise<Approval[]> {
    return (await this.#line.query<ApprovalsView>(QUERIES.approvals)).approvals;
  }

  async resume({ recursive = false, input, ...from }: ResumeOptions = {}): Promise<ResumeResult> {
    if (input !== undefined) checkedContent(input, 'input');
    const back = await bringBack(this.#client, this.id, recursive, from);
    const { submission_id } = input === undefined ? {} : await this.send(input);
    const { status, message } = await this.status();
    return {
      status,
      ...(message === undefined ? {} : { message }),
      ...back,
      ...(submission_id === undefined ? {} : { submission_id }),
    };
  }

  async fork(options: ForkOptions = {}): Promise<ForkedAgent> {
    const id = options.id ?? newRootId(Date.now(), Math.random);
    const carried = await startFork(this.#client, this.id, id, options);
    return new ForkedHandle(carried, this.#client, id, this.#keys);
  }

  async call(tool: string, args: Record<string, unknown> | string): Promise<CallResult> {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    return withFields(await operate(this.#line, { operation: 'call', tool, arguments: text }));
  }

  async wait({ timeoutMs, signal }: WaitOptions = {}): Promise<AgentView | undefined> {
    const end = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
    const patience = new Patience();
    for (const pace = new Pace(signal); ; ) {
      const view = await patience.answer(this.status());
      if (view?.is_final === true) return view;
      const left = end - Date.now();
      if (left <= 0 || pace.isOver) return undefined;
      await pace.pause(left);
    }
  }

  async *events(
    options: { after?: number; follow?: boolean; signal?: AbortSignal } = {},
  ): AsyncGenerator<AgentEvent> {
    let after = options.after ?? 0;
    const patience = new Patience();
    for (const pace = new Pace(options.signal); ; ) {
      // Asked before the events, so that those of the end are not missed.
      const ended = !isStillThere((await this.#line.describe()).status.name);
      const page = await patience.answer(this.#line.query<EventsPage>(QUERIES.events, { after }));
      if (page === undefined) continue;
      yield* page.events;
      after = page.next;
      if (page.events.length > 0) {
        pace.news();
        continue;
      }
      if (ended || options.follow !== true || pace.isOver) return;
      await pace.pause();
    }
  }

  async *statuses({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<AgentView> {
    let last = '';
    const patience = new Patience();
    for (const pace = new Pace(signal); !pace.isOver; ) {
      const view = await patience.answer(this.status());
      if (view === undefined) continue;
      const stands = JSON.stringify([view.status, view.turn, view.closed, view.queued, view.waiting_for]);
      if (stands !== last) {
        last = stands;
        pace.news();
        yield view;
      }
      if (view.closed) return;
      await pace.pause();
    }
  }

  async *agents({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<AgentView> {
    const seen = new Set<AgentId>();
    const patience = new Patience();
    for (const pace = new Pace(signal); !pace.isOver; ) {
      const ended = !isStillThere((await this.#line.describe()).status.name);
      const tree = await patience.answer(this.tree());
      if (tree === undefined) continue;
      const fresh = tree.agents.filter((view) => !seen.has(view.agent_id));
      for (const view of fresh) {
        seen.add(view.agent_id);
        yield view;
      }
      if (ended) return;
      if (fresh.length > 0) pace.news();
      await pace.pause();
    }
  }

  async result(): Promise<SessionResult> {
    const { session_id, status, output, usage, code, approval_missing } = await this.#line.result();
    return {
      session_id,
      status,
      output,
      usage,
      ...(code === undefined ? {} : { code }),
      ...(approval_missing === undefined ? {} : { approval_missing }),
    };
  }

  async describe(): Promise<AgentDescription> {
    const description = await this.#line.describe();
    const { taskQueue, status, runId, raw, memo } = description;
    const closed = !isStillThere(status.name);
    const streaming = await streamingOf(raw, this.#keys);
    const failure = await taskFailureOf(this.#client, description);
    const build = buildOf(description);
    return {
      queue: taskQueue,
      ...(typeof memo?.model_queue === 'string' ? { model_queue: memo.model_queue } : {}),
      closed,
      run_id: runId,
      ...(build === undefined ? {} : { build }),
      retries: await retriesOf(raw, this.#keys),
      ...(failure === undefined ? {} : { task_failure: failure }),
      ...(streaming === undefined ? {} : { streaming }),
    };
  }
}

/** One that has just begun from the conversation of another. */
class ForkedHandle extends AgentHandle implements ForkedAgent {
  readonly context_mode: ForkedAgent['context_mode'];
  readonly items_carried: number;

  constructor(carried: number, ...agent: ConstructorParameters<typeof AgentHandle>) {
    super(...agent);
    this.context_mode = carried === 0 ? 'fresh' : 'forked';
    this.items_carried = carried;
  }
}

function standingOf({ status, message }: Standing): Standing {
  return { status, ...(message === undefined ? {} : { message }) };
}
