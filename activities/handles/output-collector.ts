import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Stored } from '../../protocol/cut-mark.ts';
import { bytesWithin } from '../../protocol/output-size.ts';
import { systemReason } from '../system-reason.ts';
import { joinCut } from './cut-output.ts';
import { createDraft, keepDraft } from './handle-store.ts';

/** More than this of one output is not stored, so that a command cannot fill the disk. */
const MOST_STORED = 256 * 1024 * 1024;

export interface Collected {
  /** The output, cut in the middle when it was over the limit. */
  text: string;
  /** Of the whole. */
  bytes: number;
  handle?: string;
}

/**
 * Takes an output of any length in bounded memory: what is over the limit goes to a file, and only the beginning
 * and the end are kept at hand.
 */
export class OutputCollector {
  readonly #stateDir: string;
  readonly #limit: number;
  readonly #mostStored: number;
  readonly #hash = createHash('sha256');
  /** Everything, until it is over the limit; then the beginning. */
  #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;
  #stored = 0;
  #draft: { path: string; file: FileHandle } | undefined;
  #problem: string | undefined;
  #isLong = false;

  constructor(options: { stateDir: string; limitTokens: number; mostStored?: number }) {
    this.#stateDir = options.stateDir;
    this.#limit = bytesWithin(options.limitTokens);
    this.#mostStored = options.mostStored ?? MOST_STORED;
  }

  async write(chunk: Buffer): Promise<void> {
    this.#bytes += chunk.length;
    if (this.#isLong) {
      this.#keepTail(chunk);
      await this.#store(chunk);
      return;
    }
    this.#head.push(chunk);
    if (this.#bytes > this.#limit) await this.#becomeLong();
  }

  async finish(): Promise<Collected> {
    if (!this.#isLong) return { text: Buffer.concat(this.#head).toString(), bytes: this.#bytes };
    const stored = await this.#keep();
    const tail = Buffer.concat(this.#tail);
    const text = joinCut(Buffer.concat(this.#head), tail.subarray(-this.#half), this.#bytes, stored);
    return { text, bytes: this.#bytes, ...('handle' in stored ? { handle: stored.handle } : {}) };
  }

  /** For an output that nobody will read. */
  async discard(): Promise<void> {
    await this.#giveUp('discarded');
  }

  get #half(): number {
    return Math.floor(this.#limit / 2);
  }

  async #becomeLong(): Promise<void> {
    this.#isLong = true;
    const all = Buffer.concat(this.#head);
    this.#head = [Buffer.from(all.subarray(0, this.#half))];
    this.#keepTail(all.subarray(this.#half));
    try {
      const path = await createDraft(this.#stateDir);
      this.#draft = { path, file: await open(path, 'w', 0o600) };
    } catch (error) {
      await this.#giveUp(messageOf(error));
    }
    await this.#store(all);
  }

  #keepTail(chunk: Buffer): void {
    const end = chunk.subarray(-this.#half);
    this.#tail.push(end);
    this.#tailBytes += end.length;
    if (this.#tailBytes < 4 * this.#half + 65_536) return;
    this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(-this.#half))];
    this.#tailBytes = this.#half;
  }

  async #store(chunk: Buffer): Promise<void> {
    if (this.#draft === undefined) return;
    const part = chunk.subarray(0, this.#mostStored - this.#stored);
    if (part.length === 0) return;
    try {
      await this.#draft.file.writeFile(part);
      this.#hash.update(part);
      this.#stored += part.length;
    } catch (error) {
      await this.#giveUp(messageOf(error));
    }
  }

  async #keep(): Promise<Stored> {
    const draft = this.#draft;
    if (draft === undefined) return { problem: this.#problem ?? 'unknown' };
    try {
      await draft.file.close();
      const handle = await keepDraft(this.#stateDir, draft.path, this.#hash.digest('hex'));
      this.#draft = undefined;
      return this.#stored === this.#bytes ? { handle } : { handle, onlyBytes: this.#stored };
    } catch (error) {
      await this.#giveUp(messageOf(error));
      return { problem: messageOf(error) };
    }
  }

  async #giveUp(problem: string): Promise<void> {
    this.#problem ??= problem;
    const draft = this.#draft;
    this.#draft = undefined;
    if (draft === undefined) return;
    await draft.file.close().catch(() => {});
    await rm(draft.path, { force: true }).catch(() => {});
  }
}

function messageOf(error: unknown): string {
  return `it ${systemReason(error, 'written')}`;
}
