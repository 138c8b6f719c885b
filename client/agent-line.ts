import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { type AgentId, type AgentResult, CadreError, WORKFLOW_TYPE } from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import {
  isLate,
  isUnknownQuery,
  isUnserved,
  isWithoutKey,
  requireKey,
  translate,
  translateAnswer,
} from './errors.ts';
import { lacksItsBuild, standsStill, taskFailureOf } from './task-failure.ts';

/** How long an agent may take to answer; one whose worker was just killed needs 10 to 15 s. */
const ANSWER_MS = 20_000;
/** How long a first try of a query may take; reading a long conversation back takes a second. */
const QUERY_FIRST_MS = 4_000;
/** An agent that was just brought back reads what it was before it listens. */
const DEAF_PAUSE_MS = 200;

/** The way to one agent's workflow: questions and updates with a deadline, their failures as CadreErrors. */
export class AgentLine {
  readonly client: Client;
  readonly id: AgentId;

  constructor(client: Client, id: AgentId) {
    this.client = client;
    this.id = id;
  }

  async describe() {
    const handle = this.client.workflow.getHandle(this.id);
    const description = await handle.describe().catch((error: unknown) => {
      throw translate(error, this.id);
    });
    requireKey(this.id, description.memo?.task);
    return description;
  }

  /** Resolves when its workflow has ended. */
  async result(): Promise<AgentResult> {
    try {
      return requireKey(this.id, (await this.client.workflow.getHandle(this.id).result()) as AgentResult);
    } catch (error) {
      if (error instanceof WorkflowFailedError) {
        const { status } = await this.describe();
        throw new CadreError(
          'ended_from_outside',
          `agent ${this.id} was ended from outside (${status.name.toLowerCase()})`,
          {
            hint: `Somebody ended its workflow with Temporal’s own tools; what it had done is in its items. Bring it back with: cadre resume ${this.id} --recursive`,
            cause: error,
          },
        );
      }
      throw translate(error, this.id);
    }
  }

  /** @param runId asks that run, and not the newest one */
  async query<T>(name: string, payload?: unknown, runId?: string): Promise<T> {
    const handle = this.client.workflow.getHandle(this.id, runId);
    const args = payload === undefined ? [] : [payload];
    const end = Date.now() + ANSWER_MS;
    for (let patience = QUERY_FIRST_MS; ; ) {
      const until = Math.min(Date.now() + patience, end);
      try {
        const answer = await this.client.connection.withDeadline(until, () =>
          handle.query<T, unknown[]>(name, ...args),
        );
        return requireKey(this.id, answer);
      } catch (error) {
        if (await this.#isDeaf(error, end)) continue;
        if ((isUnserved(error) || isWithoutKey(error)) && until < end) {
          await sleep(DEAF_PAUSE_MS);
          continue;
        }
        // A worker that stops takes the question with it that it was just handed; another one answers.
        if (!isLate(error) || until >= end) throw await this.#told(error);
        patience *= 2;
      }
    }
  }

  async update<T>(name: string, payload: unknown): Promise<T> {
    const handle = this.client.workflow.getHandle(this.id);
    for (const end = Date.now() + ANSWER_MS; ; ) {
      try {
        const answer = await this.client.connection.withDeadline(end, () =>
          handle.executeUpdate<T, [unknown]>(name, { args: [payload] }),
        );
        return requireKey(this.id, answer);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) {
          await this.describe();
          throw new CadreError('agent_closed', `agent ${this.id} is closed`, {
            hint: `Bring it back with: cadre resume ${this.id}`,
            cause: error,
          });
        }
        if (!(await this.#isDeaf(error, end))) throw await this.#told(error);
      }
    }
  }

  /** Where nobody answers although there may be workers, it says why they cannot. */
  async #told(error: unknown): Promise<CadreError> {
    const translated = translateAnswer(error, this.id);
    if (translated.code !== 'no_worker') return translated;
    try {
      const description = await this.describe();
      const failure = await taskFailureOf(this.client, description);
      if (failure !== undefined) return standsStill(this.id, failure, error);
      return (await lacksItsBuild(this.client, this.id, description, error)) ?? translated;
    } catch {
      return translated;
    }
  }

  /** Whether the agent does not listen yet, and trying again is worth while; waits a moment if so. */
  async #isDeaf(error: unknown, end: number): Promise<boolean> {
    const unheard =
      isUnknownQuery(error) ||
      (error instanceof WorkflowUpdateFailedError &&
        /^No registered handler/.test(error.cause?.message ?? ''));
    if (!unheard) return false;
    const { type, status } = await this.describe();
    if (type !== WORKFLOW_TYPE || !isStillThere(status.name)) return false;
    if (Date.now() + DEAF_PAUSE_MS > end) {
      throw new CadreError('no_worker', `agent ${this.id} does not listen yet: it still reads what it was`, {
        hint: 'A long conversation takes its time; what it reads stands in the Temporal Web UI. Try again.',
        retryable: true,
        cause: error,
      });
    }
    await sleep(DEAF_PAUSE_MS);
    return true;
  }
}
