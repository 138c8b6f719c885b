import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../protocol/index.ts';

const FIRST_MS = 60;
const MOST_MS = 500;
const SLOWER = 1.5;
/** A worker that has just come, or is busy, answers the next time. */
const SILENCES = 3;

/** The pauses between one look and the next: short at first and after news, then longer. */
export class Pace {
  readonly #signal: AbortSignal | undefined;
  #next = FIRST_MS;

  /** @param signal ends a pause */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  get isOver(): boolean {
    return this.#signal?.aborted === true;
  }

  news(): void {
    this.#next = FIRST_MS;
  }

  async pause(mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const ms = Math.min(this.#next, mostMs);
    this.#next = Math.min(this.#next * SLOWER, MOST_MS);
    const options = this.#signal === undefined ? {} : { signal: this.#signal };
    await sleep(ms, undefined, options).catch(() => {});
  }
}

/** Takes nobody for gone that has not answered only once or twice. */
export class Patience {
  #silences = 0;

  /** @returns undefined for a question that nobody has answered this time */
  async answer<T>(question: Promise<T>): Promise<T | undefined> {
    try {
      const answer = await question;
      this.#silences = 0;
      return answer;
    } catch (error) {
      const isSilence = error instanceof CadreError && error.code === 'no_worker';
      if (!isSilence || ++this.#silences >= SILENCES) throw error;
      return undefined;
    }
  }
}
