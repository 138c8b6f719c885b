import { closeSync, fstatSync, openSync, renameSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unwritable } from './home.ts';

const MOST_BYTES = 10_000_000;
const TAIL_LINES = 5;
const LINE_MOST = 400;

/** What a server process writes: appended to `server.log`, of which one predecessor is kept. */
export class ServerLog {
  readonly path: string;
  readonly fd: number;
  readonly #from: number;

  /** @throws CadreError `home_unwritable` */
  constructor(home: string) {
    this.path = join(home, 'server.log');
    try {
      const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > MOST_BYTES) renameSync(this.path, `${this.path}.1`);
      this.fd = openSync(this.path, 'a', 0o600);
      this.#from = fstatSync(this.fd).size;
    } catch (error) {
      throw unwritable(home, error);
    }
  }

  close(): void {
    closeSync(this.fd);
  }

  /** The last lines since this log was opened. */
  async tail(): Promise<string> {
    const bytes = await readFile(this.path).catch(() => Buffer.alloc(0));
    const lines = bytes.subarray(this.#from).toString().trim().split('\n').slice(-TAIL_LINES);
    return lines.map((line) => readable(line).slice(0, LINE_MOST)).join('\n');
  }
}

/** What a person wants of a line in JSON. */
function readable(line: string): string {
  try {
    const { msg, error } = JSON.parse(line);
    return [msg, error].filter((part) => typeof part === 'string' && part !== '').join(': ') || line;
  } catch {
    return line;
  }
}
