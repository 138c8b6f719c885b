import type { Stoppable } from './stoppable.ts';

/** What is under way beside the turn: operations of clients, and the ending of what was below a lost agent. */
export class SideWork {
  #underWay = 0;
  readonly #stoppable = new Set<Stoppable>();

  /**
   * Counts work as long as it takes.
   *
   * @param work never rejects
   * @param stoppable what ends it early, where it may be ended
   */
  async track(work: Promise<void>, stoppable?: Stoppable): Promise<void> {
    this.#underWay++;
    if (stoppable !== undefined) this.#stoppable.add(stoppable);
    await work;
    this.#underWay--;
    if (stoppable !== undefined) this.#stoppable.delete(stoppable);
  }

  stop(reason: string): void {
    for (const work of this.#stoppable) work.stop(reason);
  }

  get busy(): boolean {
    return this.#underWay > 0;
  }
}
