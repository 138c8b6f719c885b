import { condition } from '@temporalio/workflow';

/**
 * Calls that run side by side and have to do one thing in the order in which they were made, however long each takes to
 * come to it.
 */
export class CallLine {
  readonly #waiting: string[] = [];

  enter(callId: string): void {
    this.#waiting.push(callId);
  }

  /** It has done that, will not do it, or does not know when: those behind it wait no longer. */
  leave(callId: string): void {
    const place = this.#waiting.indexOf(callId);
    if (place >= 0) this.#waiting.splice(place, 1);
  }

  /** Until no call that was made before waits any more; at once for one that has left. */
  async turnOf(callId: string): Promise<void> {
    const isDue = (): boolean => this.#waiting.indexOf(callId) <= 0;
    if (!isDue()) await condition(isDue);
  }
}
