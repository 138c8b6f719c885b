import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import { promisify } from 'node:util';
import { CadreError } from '../../protocol/index.ts';

/** What of node-pty is used: its `spawn` has no way to hold a command back until the watchdog guards it. */
interface Native {
  /** The descriptors do not block, and pass into every process that starts. */
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
}

const COLUMNS = 120;
const ROWS = 40;
/** Looking at the modes of a terminal takes a few ms. */
const MODES_MS = 2_000;
/** What waits in a terminal comes in parts, each a moment after the one before was read. */
const DRY_LOOKS = 3;
const MOST_LOOKS = 100;
const LOOK_MS = 5;

/** The controlling ends of terminals that are open here. */
const masters = new Set<number>();
let nothing: number | undefined;

/** How a terminal treats what is typed. */
export interface TerminalModes {
  /** It is kept back until the line ends, and a line that is too long is cut without a word. */
  byLine: boolean;
  /** Ctrl-C is a signal. */
  signals: boolean;
}

/** A pseudoterminal: the command opens `path`, and by that gets it for its controlling terminal. */
export class Terminal {
  readonly path: string;
  /** What the command writes comes out here. It is not written to: libuv would wait there for a program that reads. */
  readonly stream: Socket;
  readonly #master: number;
  #slave: number | undefined;

  /** @throws CadreError where no terminal can be had */
  constructor() {
    const { master, slave, path } = open();
    this.path = path;
    this.#master = master;
    this.#slave = slave;
    masters.add(master);
    this.stream = new ReadStream(master);
    this.stream.on('error', () => {});
    this.stream.once('close', () => {
      masters.delete(master);
      this.handOver();
    });
  }

  get isClosed(): boolean {
    return this.stream.destroyed;
  }

  /**
   * Types as much as there is room for, and never waits.
   *
   * @returns how many bytes that was; 0 also when nobody can read them any more
   */
  write(bytes: Buffer): number {
    if (this.isClosed || bytes.length === 0) return 0;
    try {
      return writeSync(this.#master, bytes);
    } catch (error) {
      if (['EAGAIN', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
      throw error;
    }
  }

  /** Undefined where that cannot be found out. */
  async modes(): Promise<TerminalModes | undefined> {
    const env = { PATH: '/usr/bin:/bin:/run/current-system/sw/bin', LC_ALL: 'C' };
    const asked = ['-c', 'exec stty -a <"$1"', 'sh', this.path];
    try {
      const { stdout } = await promisify(execFile)('/bin/sh', asked, { env, timeout: MODES_MS });
      const isOn = (mode: string) => new RegExp(`(^|\\s)${mode}\\b`).test(stdout);
      return { byLine: isOn('icanon'), signals: isOn('isig') };
    } catch {
      return undefined;
    }
  }

  /** Reads what the command has not read, in its place. */
  async dropInput(): Promise<void> {
    const { O_RDONLY, O_NOCTTY, O_NONBLOCK } = constants;
    let end: number;
    try {
      end = openSync(this.path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
    } catch {
      return;
    }
    try {
      const bytes = Buffer.alloc(4_096);
      for (let dry = 0, look = 0; dry < DRY_LOOKS && look < MOST_LOOKS; look++) {
        dry = readAll(end, bytes) === 0 ? dry + 1 : 0;
        await sleep(LOOK_MS);
      }
    } finally {
      closeSync(end);
    }
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

/** What there is now; a terminal may hand it out line by line. */
function readAll(file: number, into: Buffer): number {
  let all = 0;
  try {
    for (let read = readSync(file, into); read > 0; read = readSync(file, into)) all += read;
  } catch {
    // Nothing more.
  }
  return all;
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
