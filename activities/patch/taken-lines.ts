/** What becomes of some lines: those from `from` on, up to `to`, give way to others. None: others come before `from`. */
export interface Edit {
  /** From 0. */
  from: number;
  /** Behind the last line that goes. */
  to: number;
  lines: string[];
}

/** Where a hunk fits: all that it names, kept lines too, and what it changes there. */
export interface Placed {
  from: number;
  to: number;
  edits: Edit[];
}

/**
 * Which lines of a file the hunks before have kept or taken out. All hunks are about the file as it was: two may keep
 * the same line, but what one takes out no other may keep or take out, and nothing comes in between what goes in one
 * piece. What is left has one meaning, in whatever order the hunks come.
 */
export class TakenLines {
  readonly #kept: Uint32Array;
  readonly #gone: Uint32Array;
  /** By the line that stands below. */
  readonly #inserted: Uint32Array;
  readonly #closed: Uint32Array;

  /** @param count of lines */
  constructor(count: number) {
    [this.#kept, this.#gone] = [new Uint32Array(count), new Uint32Array(count)];
    [this.#inserted, this.#closed] = [new Uint32Array(count + 1), new Uint32Array(count + 1)];
  }

  /** The number of the hunk that cannot be applied beside this one; undefined: all of them can. */
  conflict(placed: Placed): number | undefined {
    const found: number[] = [];
    each(placed, {
      kept: (at) => found.push(this.#gone[at] as number),
      gone: (at) => found.push(this.#gone[at] as number, this.#kept[at] as number),
      inserted: (at) => found.push(this.#closed[at] as number),
      closed: (at) => found.push(this.#inserted[at] as number),
    });
    return found.find((number) => number > 0);
  }

  /** @param number of the hunk, from 1 */
  take(placed: Placed, number: number): void {
    each(placed, {
      kept: (at) => this.#kept.fill(number, at, at + 1),
      gone: (at) => this.#gone.fill(number, at, at + 1),
      inserted: (at) => this.#inserted.fill(number, at, at + 1),
      closed: (at) => this.#closed.fill(number, at, at + 1),
    });
  }
}

type Seen = Record<'kept' | 'gone' | 'inserted' | 'closed', (at: number) => void>;

function each({ from, to, edits }: Placed, seen: Seen): void {
  let at = from;
  for (const edit of edits) {
    for (; at < edit.from; at++) seen.kept(at);
    if (edit.from === edit.to) seen.inserted(at);
    for (; at < edit.to; at++) {
      seen.gone(at);
      if (at > edit.from) seen.closed(at);
    }
  }
  for (; at < to; at++) seen.kept(at);
}
