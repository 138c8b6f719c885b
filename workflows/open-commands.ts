/** More than an agent may have on a few workers; of what is forgotten, the worker still knows. */
const MOST_KNOWN = 64;
const TITLE_CHARACTERS = 100;

/** A command that goes on between calls. */
export interface OpenCommand {
  id: number;
  title: string;
  /** Of the worker that holds it; absent where it is that of the agent. */
  queue?: string;
}
export type OpenCommandsCarry = OpenCommand[];

/** The commands of an agent that go on between calls, as far as it has heard of them. */
export class OpenCommands {
  readonly #open: Map<number, OpenCommand>;

  constructor(carry: OpenCommandsCarry = []) {
    this.#open = new Map(carry.map((command) => [command.id, command]));
  }

  /** What a call has told of one; what it was started with is its title. */
  heard({ id, open, queue }: { id: number; open: boolean; queue?: string }, title: string): void {
    if (!open) {
      this.#open.delete(id);
      return;
    }
    const known = this.#open.get(id);
    const first = title.length <= TITLE_CHARACTERS ? title : `${title.slice(0, TITLE_CHARACTERS - 1)}…`;
    this.#open.set(id, { id, title: known?.title ?? first, ...(queue === undefined ? {} : { queue }) });
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MOST_KNOWN) break;
      this.#open.delete(oldest);
    }
  }

  /** It is gone with its worker. */
  lost(id: number): void {
    this.#open.delete(id);
  }

  /** All of them have ended. */
  clear(): void {
    this.#open.clear();
  }

  queueOf(id: number): string | undefined {
    return this.#open.get(id)?.queue;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  get all(): OpenCommand[] {
    return [...this.#open.values()];
  }

  /** Each once; undefined stands for that of the agent. */
  get queues(): (string | undefined)[] {
    return [...new Set(this.all.map(({ queue }) => queue))];
  }

  get carry(): OpenCommandsCarry {
    return this.all;
  }
}
