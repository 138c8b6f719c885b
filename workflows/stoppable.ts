import { CancellationScope, sleep, Trigger } from '@temporalio/workflow';
import type { ErrorCode } from '../protocol/index.ts';

/** After a stop, a tool with effects gets this long to say that it has stopped. */
const STOP_MS = 1_500;

/** Work that can be stopped, as far as its parts need to know it: the turn in progress, or an operation of a client. */
export class Stoppable {
  readonly scope = new CancellationScope();
  /** Resolves some time after a stop: a dead worker says nothing, and nobody waits for it. */
  readonly overdue = new Trigger<undefined>();
  #reason: string | undefined;
  #limit: ErrorCode | undefined;
  #isAlong = false;

  /** Why it is being stopped; undefined while it is not. */
  get stopReason(): string | undefined {
    return this.#reason;
  }

  /** The limit that stopped it; undefined when somebody did. */
  get limit(): ErrorCode | undefined {
    return this.#limit;
  }

  /** Whether it is being stopped since the parent of its agent was interrupted. */
  get isAlong(): boolean {
    return this.#isAlong;
  }

  /**
   * @param limit the code of the limit that was reached; none when somebody stops it
   * @param along the parent of its agent was interrupted, and passes that on
   */
  stop(reason: string, limit?: ErrorCode, along = false): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#limit = limit;
    this.#isAlong = along;
    this.scope.cancel();
    void CancellationScope.nonCancellable(async () => {
      await sleep(STOP_MS);
      this.overdue.resolve(undefined);
    });
  }
}
