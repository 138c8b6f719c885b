import { closeSync, constants, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ReadStream } from 'node:tty';
import { CadreError } from '../../protocol/index.ts';

/** What of node-pty is used: its `spawn` has no way to hold a command back until the watchdog guards it. */
interface Native {
  /** The descriptors do not block, and pass into every process that starts. */
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
}

const COLUMNS = 120;
const ROWS = 40;

/** The controlling ends of terminals that are open here. */
const masters = new Set<number>();
let nothing: number | undefined;

/** A pseudoterminal: the command opens `path`, and by that gets it for its controlling terminal. */
export class Terminal {
  readonly path: string;
  /** What the command writes comes out here; what is written here is typed. */
  readonly stream: ReadStream;
  #slave: number | undefined;

  /** @throws CadreError where no terminal can be had */
  constructor() {
    const { master, slave, path } = open();
    this.path = path;
    this.#slave = slave;
    masters.add(master);
    this.stream = new ReadStream(master);
    this.stream.on('error', () => {});
    this.stream.once('close', () => {
      masters.delete(master);
      this.handOver();
    });
  }

  /** The command has its end, or never will: without this one, the last process to close its own ends the output. */
  handOver(): void {
    if (this.#slave === undefined) return;
    closeSync(this.#slave);
    this.#slave = undefined;
  }

  close(): void {
    this.handOver();
    this.stream.destroy();
  }
}

/**
 * What stands for the terminals of commands in a process that starts and goes on, or it could type into them, and keep
 * them: an entry for each of its descriptors from `first` on.
 */
export function withoutTerminals(first: number): ('ignore' | number)[] {
  if (masters.size === 0) return [];
  nothing ??= openSync('/dev/null', 'r+');
  const last = Math.max(...masters);
  const instead = nothing;
  return Array.from({ length: Math.max(0, last + 1 - first) }, (_, i) =>
    masters.has(first + i) ? instead : 'ignore',
  );
}

function open(): { master: number; slave: number; path: string } {
  try {
    const require = createRequire(import.meta.url);
    const { requireBinary } = require('@lydell/node-pty/requireBinary.js') as {
      requireBinary(file: string): Native;
    };
    const { master, slave, pty: path } = requireBinary('pty.node').open(COLUMNS, ROWS);
    // Opened again it passes into no other process: one that goes on would keep the output from ending.
    try {
      return { master, slave: openSync(path, constants.O_RDWR | constants.O_NOCTTY), path };
    } catch (error) {
      closeSync(master);
      throw error;
    } finally {
      closeSync(slave);
    }
  } catch (error) {
    throw new CadreError('tool_failed', `No terminal can be had here: ${(error as Error).message}`, {
      hint: 'Run the command without tty.',
      cause: error,
    });
  }
}
