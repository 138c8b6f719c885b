import { bytesWithin } from '../../protocol/output-size.ts';
import { joinCut } from '../handles/cut-output.ts';
import { storeText } from '../handles/handle-store.ts';
import { type Collected as Kept, OutputCollector } from '../handles/output-collector.ts';

/** More than this of what comes between two looks is not stored: a flood goes on for as long as nobody ends it. */
const MOST_STORED = 16 * 1024 * 1024;

/** A text that was cut to the limit is longer than that by the mark. */
const MARK_ROOM = 400;

/** What came since the last look, cut in the middle when it was too long. */
export interface Look {
  text: string;
  handle?: string;
}

/** The output of a command that goes on while nobody looks: what comes between two looks is kept in bounded memory. */
export class SessionOutput {
  readonly #options: { stateDir: string; limitTokens: number; mostStored: number };
  readonly #isTerminal: boolean;
  #collector: OutputCollector;
  /** The beginning of a character, or of a line end, whose rest has not come yet. */
  #pending: Buffer = Buffer.alloc(0);
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: { stateDir: string; limitTokens: number; isTerminal: boolean }) {
    this.#options = { ...options, mostStored: MOST_STORED };
    this.#isTerminal = options.isTerminal;
    this.#collector = new OutputCollector(this.#options);
  }

  write(chunk: Buffer): Promise<void> {
    return this.#inOrder(() => {
      const all = Buffer.concat([this.#pending, chunk]);
      const end = all.length - unfinished(all);
      this.#pending = Buffer.from(all.subarray(end));
      return this.#collector.write(this.#plain(all.subarray(0, end)));
    });
  }

  /** @param isLast nothing comes any more */
  take(maxTokens: number | undefined, isLast: boolean): Promise<Look> {
    return this.#inOrder(async () => {
      const collector = this.#collector;
      if (isLast) await collector.write(this.#plain(this.#pending));
      else this.#collector = new OutputCollector(this.#options);
      const { limitTokens, stateDir } = this.#options;
      const limit = Math.min(maxTokens ?? limitTokens, limitTokens);
      return shortened(await collector.finish(), limit, stateDir);
    });
  }

  /** For what nobody will read. */
  discard(): Promise<void> {
    return this.#inOrder(() => this.#collector.discard());
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }

  /** A terminal ends its lines with two characters. */
  #plain(bytes: Buffer): Buffer {
    if (!this.#isTerminal || !bytes.includes('\r\n')) return bytes;
    return Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
  }
}

/** Of a text that is shorter than what is kept at hand, the whole is stored, if it is not yet. */
async function shortened(kept: Kept, limitTokens: number, stateDir: string): Promise<Look> {
  const { text, handle } = kept;
  const bytes = Buffer.from(text);
  const half = Math.floor(bytesWithin(limitTokens) / 2);
  if (bytes.length <= MARK_ROOM + 2 * half) return handle === undefined ? { text } : { text, handle };
  const stored = handle === undefined ? await storeText(stateDir, text) : { handle };
  const total = Math.max(kept.bytes, bytes.length);
  const cut = joinCut(bytes.subarray(0, half), bytes.subarray(-half), total, stored);
  return 'handle' in stored ? { text: cut, handle: stored.handle } : { text: cut };
}

/** How many of the last bytes wait for what follows them. */
function unfinished(bytes: Buffer): number {
  if (bytes.at(-1) === 0x0d) return 1;
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes.at(-back) as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
