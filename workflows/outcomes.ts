import { refusalOutput } from '../protocol/errors.ts';
import type { OperateOutcome } from '../protocol/index.ts';

const UNKNOWN = refusalOutput({
  code: 'outcome_unknown',
  message: 'The agent was ended before the operation was done: what has come of it is unknown.',
});

/** How many may be under way: they stand beside the turn, and none of them is forgotten. */
export const OPERATIONS_MAX = 100;
/** How many outcomes are kept for clients that ask late. */
const KEPT = 100;
/** Of their texts; the newest is kept, whatever its size. */
const KEPT_BYTES = 200_000;

export type OutcomesCarry = [id: string, outcome: OperateOutcome][];

/** What has come of the operations that clients have asked for; they look for it, since a handler does not wait. */
export class Outcomes {
  readonly #outcomes: Map<string, OperateOutcome>;

  constructor(carry: OutcomesCarry = []) {
    this.#outcomes = new Map(carry);
  }

  begin(id: string): void {
    this.#outcomes.set(id, { state: 'pending' });
    if (this.#outcomes.size > KEPT) this.#forgetOldest(id);
  }

  /** What is still under way is not forgotten, however long it takes, and neither is what has just ended. */
  #forgetOldest(newest: string): boolean {
    const oldest = [...this.#outcomes].find(([id, { state }]) => state === 'done' && id !== newest);
    return oldest !== undefined && this.#outcomes.delete(oldest[0]);
  }

  /** Whether there are as many under way as may be. */
  get isFull(): boolean {
    const pending = [...this.#outcomes.values()].filter(({ state }) => state === 'pending');
    return pending.length >= OPERATIONS_MAX;
  }

  /** Whether this is an operation of a client. */
  has(id: string): boolean {
    return this.#outcomes.has(id);
  }

  /** Nobody works any more on what was under way when the agent was ended. */
  giveUp(): void {
    for (const [id, { state }] of this.#outcomes) {
      if (state === 'pending') this.end(id, false, UNKNOWN);
    }
  }

  end(id: string, success: boolean, output: string): void {
    if (!this.#outcomes.delete(id)) return;
    this.#outcomes.set(id, { state: 'done', success, output });
    while (this.bytes > KEPT_BYTES && this.#forgetOldest(id));
  }

  /** About as many as they take in the input of a new run. */
  get bytes(): number {
    return [...this.#outcomes.values()].reduce(
      (sum, outcome) => sum + (outcome.state === 'done' ? outcome.output.length : 0),
      0,
    );
  }

  outcome(id: string): OperateOutcome {
    return this.#outcomes.get(id) ?? { state: 'unknown' };
  }

  get carry(): OutcomesCarry {
    return [...this.#outcomes];
  }
}
