import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  type AgentEvent,
  type AgentId,
  type AgentResult,
  type AgentView,
  CadreError,
  type ContentPart,
  type EventsPage,
  type ItemsPage,
  type NoteAnswer,
  QUERIES,
  type SendInput,
  type Status,
  type SubmissionAnswer,
  type TreeView,
  UPDATES,
} from '../protocol/index.ts';
import { isLate, translate } from './errors.ts';
import type { Agent, CloseResult, SendOptions, SessionResult, WaitOptions } from './types.ts';

/** How long an agent may take to answer; one whose worker was just killed needs 10 to 15 s. */
const ANSWER_MS = 20_000;
/** How long a first try of a query may take; reading a long conversation back takes a second. */
const QUERY_FIRST_MS = 4_000;
const POLL_FIRST_MS = 60;
const POLL_MOST_MS = 500;
/** Whoever waits takes nobody for gone that has not answered only once or twice. */
const SILENCES = 3;

/** One agent, reached through Temporal. */
export class AgentHandle implements Agent {
  readonly id: AgentId;
  readonly #client: Client;
  readonly #workflow: WorkflowHandle;

  constructor(client: Client, id: AgentId) {
    this.#client = client;
    this.id = id;
    this.#workflow = client.workflow.getHandle(id);
  }

  async send(input: string | ContentPart[], options: SendOptions = {}): Promise<SubmissionAnswer> {
    const payload: SendInput = {
      ...(typeof input === 'string' ? { message: input } : { items: input }),
      ...(options.interrupt === undefined ? {} : { interrupt: options.interrupt }),
      id: options.id ?? randomUUID(),
    };
    return this.#update<SubmissionAnswer>(UPDATES.sendInput, payload);
  }

  async interrupt(reason?: string): Promise<void> {
    await this.#update(UPDATES.interrupt, reason === undefined ? {} : { reason });
  }

  async setNote(note: string): Promise<string | null> {
    return (await this.#update<NoteAnswer>(UPDATES.setNote, { note })).thread_note;
  }

  async close(reason?: string): Promise<CloseResult> {
    let before: { status: Status; message?: string };
    try {
      before = await this.#update(UPDATES.shutdown, reason === undefined ? {} : { reason });
    } catch (error) {
      if (error instanceof CadreError && error.code === 'agent_closed') {
        const { status, message } = await this.status();
        return { status, ...(message === undefined ? {} : { message }), closed: [] };
      }
      throw error;
    }
    const { closed } = await this.#result();
    return {
      status: before.status,
      ...(before.message === undefined ? {} : { message: before.message }),
      closed,
    };
  }

  async status(): Promise<AgentView> {
    const { status: execution } = await this.#describe();
    const view = await this.#query<AgentView>(QUERIES.status);
    return asEnded(view, execution.name);
  }

  async tree(): Promise<TreeView> {
    const { status: execution } = await this.#describe();
    const tree = await this.#query<TreeView>(QUERIES.tree);
    const [own, ...others] = tree.agents;
    if (own === undefined) return tree;
    if (tree.partial !== true) return { ...tree, agents: [asEnded(own, execution.name), ...others] };
    const children = await Promise.all(own.children.map((id) => new AgentHandle(this.#client, id).status()));
    return { ...tree, agents: [asEnded(own, execution.name), ...children] };
  }

  items(range: { from?: number; to?: number } = {}): Promise<ItemsPage> {
    return this.#query<ItemsPage>(QUERIES.items, range);
  }

  async wait({ timeoutMs, signal }: WaitOptions = {}): Promise<AgentView | undefined> {
    const end = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
    let silences = 0;
    for (let pause = POLL_FIRST_MS; ; pause = Math.min(pause * 1.5, POLL_MOST_MS)) {
      const view = await this.status().catch((error: unknown) => {
        // A worker that has just come, or is busy, answers the next time.
        if (!isSilence(error) || ++silences >= SILENCES) throw error;
        return undefined;
      });
      if (view !== undefined) silences = 0;
      if (view?.is_final === true) return view;
      const left = end - Date.now();
      if (left <= 0 || signal?.aborted === true) return undefined;
      await pauseFor(Math.min(pause, left), signal);
    }
  }

  async *events(
    options: { after?: number; follow?: boolean; signal?: AbortSignal } = {},
  ): AsyncGenerator<AgentEvent> {
    let after = options.after ?? 0;
    for (let pause = POLL_FIRST_MS; ; ) {
      // Asked before the events, so that those of the end are not missed.
      const ended = (await this.#describe()).status.name !== 'RUNNING';
      const page = await this.#query<EventsPage>(QUERIES.events, { after });
      yield* page.events;
      after = page.next;
      if (page.events.length > 0) {
        pause = POLL_FIRST_MS;
        continue;
      }
      if (ended || options.follow !== true || options.signal?.aborted === true) return;
      await pauseFor(pause, options.signal);
      pause = Math.min(pause * 1.5, POLL_MOST_MS);
    }
  }

  async *statuses({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<AgentView> {
    let last = '';
    for (let pause = POLL_FIRST_MS; signal?.aborted !== true; ) {
      const view = await this.status();
      const stands = JSON.stringify([view.status, view.turn, view.closed, view.queued, view.waiting_for]);
      if (stands !== last) {
        last = stands;
        pause = POLL_FIRST_MS;
        yield view;
      }
      if (view.closed) return;
      await pauseFor(pause, signal);
      pause = Math.min(pause * 1.5, POLL_MOST_MS);
    }
  }

  async *agents({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<AgentView> {
    const seen = new Set<AgentId>();
    for (let pause = POLL_FIRST_MS; signal?.aborted !== true; ) {
      const ended = (await this.#describe()).status.name !== 'RUNNING';
      const fresh = (await this.tree()).agents.filter((view) => !seen.has(view.agent_id));
      for (const view of fresh) {
        seen.add(view.agent_id);
        yield view;
      }
      if (ended) return;
      pause = fresh.length > 0 ? POLL_FIRST_MS : Math.min(pause * 1.5, POLL_MOST_MS);
      await pauseFor(pause, signal);
    }
  }

  async result(): Promise<SessionResult> {
    const { session_id, status, output, usage, code, approval_missing } = await this.#result();
    return {
      session_id,
      status,
      output,
      usage,
      ...(code === undefined ? {} : { code }),
      ...(approval_missing === undefined ? {} : { approval_missing }),
    };
  }

  async describe(): Promise<{ queue: string; closed: boolean; run_id: string }> {
    const { taskQueue, status, runId } = await this.#describe();
    return { queue: taskQueue, closed: status.name !== 'RUNNING', run_id: runId };
  }

  async #describe() {
    try {
      return await this.#workflow.describe();
    } catch (error) {
      throw translate(error, this.id);
    }
  }

  async #result(): Promise<AgentResult> {
    try {
      return (await this.#workflow.result()) as AgentResult;
    } catch (error) {
      if (error instanceof WorkflowFailedError) {
        const { status } = await this.#describe();
        throw new CadreError(
          'internal',
          `agent ${this.id} was ended from outside (${status.name.toLowerCase()})`,
          {
            hint: 'Somebody ended its workflow with Temporal’s own tools; what it had done is in its items.',
            cause: error,
          },
        );
      }
      throw translate(error, this.id);
    }
  }

  async #query<T>(name: string, ...args: unknown[]): Promise<T> {
    const end = Date.now() + ANSWER_MS;
    for (let patience = QUERY_FIRST_MS; ; patience *= 2) {
      const until = Math.min(Date.now() + patience, end);
      try {
        return await this.#client.connection.withDeadline(until, () =>
          this.#workflow.query<T, unknown[]>(name, ...args),
        );
      } catch (error) {
        // A worker that stops takes the question with it that it was just handed; another one answers.
        if (!isLate(error) || until >= end) throw translate(error, this.id);
      }
    }
  }

  async #update<T>(name: string, payload: unknown): Promise<T> {
    try {
      return await this.#client.connection.withDeadline(Date.now() + ANSWER_MS, () =>
        this.#workflow.executeUpdate<T, [unknown]>(name, { args: [payload] }),
      );
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) {
        await this.#describe();
        throw new CadreError('agent_closed', `agent ${this.id} is closed and takes no input`, {
          hint: 'Start another one.',
          cause: error,
        });
      }
      throw translate(error, this.id);
    }
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof CadreError && error.code === 'no_worker';
}

/** A view that its workflow can no longer correct: it was ended from outside. */
function asEnded(view: AgentView, execution: string): AgentView {
  if (view.closed || execution === 'RUNNING' || execution === 'COMPLETED') return view;
  const message = `ended from outside (${execution.toLowerCase().replaceAll('_', ' ')})`;
  return { ...view, status: 'errored', message, is_final: true, closed: true };
}

async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
}
