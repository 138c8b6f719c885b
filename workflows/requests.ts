import { condition } from '@temporalio/workflow';

/** Questions to other agents whose answers come back as signals. */
export class Requests<A extends { request_id: string }> {
  readonly #answers: Map<string, A>;

  constructor(carry: readonly A[] = []) {
    this.#answers = new Map(carry.map((answer) => [answer.request_id, answer]));
  }

  /** Keeps an answer until it is asked for. */
  answer(answer: A): void {
    this.#answers.set(answer.request_id, answer);
  }

  /** Whether the answer has come. */
  has(requestId: string): boolean {
    return this.#answers.has(requestId);
  }

  /** Waits for the answer; undefined when `until` comes true first. */
  async await(requestId: string, until: () => boolean): Promise<A | undefined> {
    await condition(() => this.#answers.has(requestId) || until());
    const answer = this.#answers.get(requestId);
    this.#answers.delete(requestId);
    return answer;
  }

  /** Nobody asks for that answer any more. */
  forget(requestId: string): void {
    this.#answers.delete(requestId);
  }

  /** Answers that nobody has asked for yet. */
  get carry(): A[] {
    return [...this.#answers.values()];
  }
}
