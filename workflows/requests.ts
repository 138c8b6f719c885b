import { condition } from '@temporalio/workflow';

/** Questions to other agents whose answers come back as signals. */
export class Requests<A extends { request_id: string }> {
  readonly #answers = new Map<string, A>();

  /** Keeps an answer until it is asked for. */
  answer(answer: A): void {
    this.#answers.set(answer.request_id, answer);
  }

  /** Whether the answer has come. */
  has(requestId: string): boolean {
    return this.#answers.has(requestId);
  }

  /** Waits for the answer; undefined when `until` comes true, or the time is up, first. */
  async await(requestId: string, until: () => boolean, timeoutMs?: number): Promise<A | undefined> {
    const there = (): boolean => this.#answers.has(requestId) || until();
    if (timeoutMs === undefined) await condition(there);
    else await condition(there, timeoutMs);
    const answer = this.#answers.get(requestId);
    this.#answers.delete(requestId);
    return answer;
  }
}
