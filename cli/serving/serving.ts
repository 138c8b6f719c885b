import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/errors.ts';
import { lockFreed, lockHolder, ProcessLock } from '../../server/process-lock.ts';
import type { CadreWorker } from '../../worker/types.ts';

/** A session that this person's own processes work for. */
export interface LocalSession {
  queue: string;
  lockPath: string;
}

/**
 * `act`: take the session's lock, or wait for it, and do all of its work.
 * `answer`: only where nobody holds the lock, let its agents answer and take input; nothing else is begun.
 */
export type ServingMode = 'act' | 'answer';

export interface Surroundings {
  startWorker(queue: string, options: { workflowsOnly: boolean }): Promise<CadreWorker>;
  /** Counts up when Temporal is reached in another way than before, so that workers have to be made anew. */
  generation(): number;
  /** Told what goes wrong on the way, and is got over. */
  trouble(message: string): void;
}

const LOOK_MS = 500;
const RETRY_MS = 1_000;
const TRIES = 5;
/** What trying again would not mend. */
const NO_USE: readonly string[] = ['config_invalid', 'key_missing'];
/** A worker that lived this long was a good one: its failure counts as the first. */
const GOOD_MS = 30_000;

/** Works for one local session, as long as nobody else does, until it is stopped. */
export class Serving {
  /** Rejects when the session cannot be worked for; never resolves. */
  readonly failed: Promise<never>;
  readonly #session: LocalSession;
  readonly #mode: ServingMode;
  readonly #around: Surroundings;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #working = false;

  constructor(session: LocalSession, mode: ServingMode, around: Surroundings) {
    this.#session = session;
    this.#mode = mode;
    this.#around = around;
    this.#ended = this.#run();
    this.failed = new Promise((_resolve, reject) => {
      this.#ended.catch(reject);
    });
    this.failed.catch(() => {});
  }

  /** Whether this process works for the session now; if not, somebody else does. */
  get isWorking(): boolean {
    return this.#working;
  }

  /** Ends the work; what runs gets the worker's time to finish. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended.catch(() => {});
  }

  async #run(): Promise<void> {
    const { lockPath } = this.#session;
    while (await lockFreed(lockPath, LOOK_MS, this.#stop.signal)) {
      if (this.#mode === 'answer') {
        await this.#work();
        continue;
      }
      const lock = await ProcessLock.acquire(lockPath);
      if (lock === undefined) {
        await this.#pause(LOOK_MS / 5);
        continue;
      }
      try {
        await this.#work();
      } finally {
        await lock.release();
      }
    }
  }

  async #work(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      const begun = Date.now();
      try {
        await this.#serveOnce();
        failures = 0;
      } catch (error) {
        failures = Date.now() - begun > GOOD_MS ? 1 : failures + 1;
        // Without a server there is nothing to give up for: it may come back, and so does its owner.
        const unreachable = error instanceof CadreError && error.code === 'temporal_unreachable';
        const wrong = error instanceof CadreError && NO_USE.includes(error.code);
        if (wrong || (failures >= TRIES && !unreachable)) throw error;
        this.#around.trouble(`the worker stopped (${messageOf(error)}); trying again`);
        await this.#pause(RETRY_MS);
      } finally {
        this.#working = false;
      }
    }
  }

  /** One life of a worker: until it is stopped, fails, or Temporal is reached in another way. */
  async #serveOnce(): Promise<void> {
    const generation = this.#around.generation();
    const workflowsOnly = this.#mode === 'answer';
    const worker = await this.#around.startWorker(this.#session.queue, { workflowsOnly });
    this.#working = true;
    let ended = false;
    const done = worker.done.finally(() => {
      ended = true;
    });
    done.catch(() => {});
    try {
      while (!this.#stop.signal.aborted && !ended && this.#around.generation() === generation) {
        await Promise.race([this.#pause(LOOK_MS), done]);
      }
    } finally {
      // A worker of a server that is gone would wait for it for good.
      const stopping = worker.stop().catch(() => {});
      if (this.#around.generation() === generation) await stopping;
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

/** Does something that needs an agent's answer or work, and serves its session meanwhile if nobody else does. */
export async function serveWhileNeeded<T>(
  session: LocalSession | undefined,
  mode: ServingMode,
  around: Surroundings,
  action: () => Promise<T>,
): Promise<T> {
  if (session === undefined) return action();
  const serving = new Serving(session, mode, around);
  try {
    return await Promise.race([action(), serving.failed]);
  } finally {
    await serving.stop();
  }
}

/** Whether some process works for the session. */
export async function isServed(session: LocalSession): Promise<boolean> {
  return (await lockHolder(session.lockPath)) !== undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
