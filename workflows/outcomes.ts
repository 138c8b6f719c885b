import { refusalOutput } from '../protocol/errors.ts';
import type { OperateOutcome } from '../protocol/index.ts';

const UNKNOWN = refusalOutput({
  code: 'outcome_unknown',
  message: 'The agent was ended before the operation was done: what has come of it is unknown.',
});

/** How many outcomes are kept for clients that ask late. */
const KEPT = 100;

export type OutcomesCarry = [id: string, outcome: OperateOutcome][];

/** What has come of the operations that clients have asked for; they look for it, since a handler does not wait. */
export class Outcomes {
  readonly #outcomes: Map<string, OperateOutcome>;
  #underWay = 0;

  constructor(carry: OutcomesCarry = []) {
    this.#outcomes = new Map(carry);
  }

  begin(id: string): void {
    this.#outcomes.set(id, { state: 'pending' });
    const [oldest] = this.#outcomes.keys();
    if (this.#outcomes.size > KEPT && oldest !== undefined) this.#outcomes.delete(oldest);
  }

  /** Whether this is an operation of a client. */
  has(id: string): boolean {
    return this.#outcomes.has(id);
  }

  /** After a resume: nobody works on what was under way when the agent was ended. */
  reopen(): void {
    for (const [id, { state }] of this.#outcomes) {
      if (state === 'pending') this.end(id, false, UNKNOWN);
    }
  }

  end(id: string, success: boolean, output: string): void {
    if (this.#outcomes.has(id)) this.#outcomes.set(id, { state: 'done', success, output });
  }

  outcome(id: string): OperateOutcome {
    return this.#outcomes.get(id) ?? { state: 'unknown' };
  }

  /** Counts the work on an operation, which never rejects, as long as it takes. */
  async track(work: Promise<void>): Promise<void> {
    this.#underWay++;
    await work;
    this.#underWay--;
  }

  /** Whether some operation is under way; one that has only been asked for is not. */
  get busy(): boolean {
    return this.#underWay > 0;
  }

  get carry(): OutcomesCarry {
    return [...this.#outcomes];
  }
}
