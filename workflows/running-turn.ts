import { CancellationScope, sleep, Trigger } from '@temporalio/workflow';

/** After an interrupt, a tool with effects gets this long to say that it has stopped. */
const STOP_MS = 1_500;

/** The turn in progress, as far as an interrupt needs to know it. */
export class RunningTurn {
  readonly scope = new CancellationScope();
  /** Resolves some time after an interrupt: a dead worker says nothing, and nobody waits for it. */
  readonly overdue = new Trigger<undefined>();
  #reason: string | undefined;

  /** Why it is being stopped; undefined while it is not. */
  get stopReason(): string | undefined {
    return this.#reason;
  }

  stop(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.scope.cancel();
    void CancellationScope.nonCancellable(async () => {
      await sleep(STOP_MS);
      this.overdue.resolve(undefined);
    });
  }
}
