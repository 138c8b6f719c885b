import { CancellationScope, sleep, Trigger } from '@temporalio/workflow';
import type { ErrorCode } from '../protocol/index.ts';

/** After an interrupt, a tool with effects gets this long to say that it has stopped. */
const STOP_MS = 1_500;

/** The turn in progress, as far as an interrupt needs to know it. */
export class RunningTurn {
  readonly scope = new CancellationScope();
  /** Resolves some time after an interrupt: a dead worker says nothing, and nobody waits for it. */
  readonly overdue = new Trigger<undefined>();
  #reason: string | undefined;
  #limit: ErrorCode | undefined;

  /** Why it is being stopped; undefined while it is not. */
  get stopReason(): string | undefined {
    return this.#reason;
  }

  /** The limit that stopped it; undefined when somebody did. */
  get limit(): ErrorCode | undefined {
    return this.#limit;
  }

  /** @param limit the code of the limit that was reached; none when somebody stops the turn */
  stop(reason: string, limit?: ErrorCode): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#limit = limit;
    this.scope.cancel();
    void CancellationScope.nonCancellable(async () => {
      await sleep(STOP_MS);
      this.overdue.resolve(undefined);
    });
  }
}
