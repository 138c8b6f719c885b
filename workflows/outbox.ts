import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope, getExternalWorkflowHandle } from '@temporalio/workflow';
import { type AgentId, INTERNAL_SIGNAL, type Mail } from '../protocol/index.ts';

const MISSING = 'ExternalWorkflowExecutionNotFound';

/** Whether the receiver of a signal is closed, terminated or was never there. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === MISSING;
}

/**
 * What this agent sends to others of its session. Signals to one receiver go one after the other, since the server
 * may deliver two that are under way in either order. What is sent is sent: no interrupt takes it back.
 */
export class Outbox {
  readonly #last = new Map<AgentId, Promise<void>>();
  readonly #underway = new Set<Promise<void>>();

  /** Sends without waiting; `onMissing` is called when there is nobody to receive it. */
  post(to: AgentId, mail: Mail, onMissing: () => void = () => {}): void {
    void this.send(to, INTERNAL_SIGNAL, mail).then(
      (reached) => {
        if (!reached) onMissing();
      },
      // A receiver that the server lets take no more signals: whoever waits for an answer has its own way out.
      () => {},
    );
  }

  /** Resolves when the server has the signal; false when there is nobody to receive it. */
  send(to: AgentId, signal: string, payload: unknown): Promise<boolean> {
    const before = this.#last.get(to) ?? Promise.resolve();
    const sending = before.then(() => CancellationScope.nonCancellable(() => deliver(to, signal, payload)));
    const done = sending.then(
      () => {},
      () => {},
    );
    this.#last.set(to, done);
    this.#underway.add(done);
    void done.then(() => {
      this.#underway.delete(done);
      if (this.#last.get(to) === done) this.#last.delete(to);
    });
    return sending;
  }

  /** Whether all that was sent has reached the server. */
  get isEmpty(): boolean {
    return this.#underway.size === 0;
  }
}

async function deliver(to: AgentId, signal: string, payload: unknown): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(to).signal(signal, payload);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
