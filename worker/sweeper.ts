import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { findEnded } from '../activities/find-ended.ts';
import { terminateAgents } from '../activities/terminate-agents.ts';
import { isBelow } from '../protocol/ids.ts';
import { type AgentId, missingAbove, orphansOf, SIGNALS, topmost, WORKFLOW_TYPE } from '../protocol/index.ts';
import { STILL_RUNS } from '../protocol/lives.ts';

const EVERY_MS = 30_000;
/** So long an agent may take to close: a killed worker needs 10 to 15 s to come back, and each level has its time. */
const LATE_MS = 60_000;
const REASON = 'what it worked for was ended from outside';

export interface SweeperOptions {
  client: Client;
  queue: string;
  /** Told in a line what was found. */
  log(line: string): void;
  /** Who has been told to close is terminated after so many ms (default 60,000). */
  lateMs?: number;
  /** Another than that of the machine: its ms, and what waits for some of them, or for the signal. */
  clock?: Clock;
}

export interface Clock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const MACHINE: Clock = {
  now: Date.now,
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};

/**
 * Closes what was left by agents that were ended from outside: with Temporal's own tools anybody can terminate, or
 * delete, a root, and its descendants hear nothing of it. This looks from outside any workflow, so that an idle agent
 * costs no events.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #clock: Clock;
  /** When each orphan was first seen, and told to close. */
  #told = new Map<AgentId, number>();

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#clock = options.clock ?? MACHINE;
  }

  /** Looks again and again, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(EVERY_MS, signal);
      if (signal.aborted) return;
      // Without a server there is nothing to close, and the next look comes soon.
      await this.sweep().catch((error: unknown) => {
        if (!signal.aborted) this.#options.log(`orphans could not be looked for: ${String(error)}`);
      });
    }
  }

  /** Looks once. */
  async sweep(): Promise<void> {
    const { client, log, lateMs = LATE_MS } = this.#options;
    const running = await this.#running();
    const { ended } = await findEnded(client)({ agents: missingAbove(running) });
    const orphans = orphansOf(running, ended);
    const now = this.#clock.now();
    const known = this.#told;
    const fresh = topmost(orphans.filter((id) => !known.has(id)));
    const late = topmost(orphans.filter((id) => known.has(id) && now - (known.get(id) ?? now) >= lateMs));
    this.#told = new Map([...known].filter(([id]) => orphans.includes(id)));
    for (const id of fresh) {
      log(`closing ${id}: ${REASON}`);
      await this.#tell(id);
      // One that could not be told is not late, but told the next time; what is below it closes along.
      for (const each of orphans) if (each === id || isBelow(each, id)) this.#told.set(each, now);
    }
    for (const id of late) {
      const { terminated } = await terminateAgents(client)({ agent_id: id, reason: REASON });
      log(`terminated ${terminated.join(', ')}: ${REASON}, and it did not close in time`);
    }
  }

  async #running(): Promise<AgentId[]> {
    const { client, queue } = this.#options;
    // Those of a host too, which may be gone for good.
    const lives = `(TaskQueue = "${queue}" OR TaskQueue STARTS_WITH "${queue}@")`;
    const terms = [lives, `WorkflowType = "${WORKFLOW_TYPE}"`, STILL_RUNS];
    const ids: AgentId[] = [];
    for await (const { workflowId } of client.workflow.list({ query: terms.join(' AND ') })) {
      ids.push(workflowId as AgentId);
    }
    return ids;
  }

  async #tell(id: AgentId): Promise<void> {
    try {
      await this.#options.client.workflow.getHandle(id).signal(SIGNALS.shutdown, { reason: REASON });
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
