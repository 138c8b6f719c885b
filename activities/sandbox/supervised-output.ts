import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/errors.ts';
import type { Terminal } from './terminal.ts';

/** How long to wait for the rest of the output after everything was killed. */
const DRAIN_MS = 3_000;
/** And where nobody will read it: whoever has interrupted the command is not to wait for what holds its output open. */
const UNREAD_MS = 250;

/** Where output comes from, and what to do once the command has its own end of that, maybe again. */
interface OutputSource {
  stream: Socket;
  opened(): void;
}

export function openPipe(path: string): OutputSource {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (!fstatSync(reader).isFIFO()) {
    closeSync(reader);
    throw new CadreError('tool_failed', `The command could not be started: ${path} is no pipe any more.`);
  }
  // Held until the command has its own end: a pipe without writers would look ended before it began.
  let writer: number | undefined = openSync(path, constants.O_WRONLY);
  return {
    stream: new Socket({ fd: reader, readable: true, writable: false }),
    opened() {
      if (writer === undefined) return;
      closeSync(writer);
      writer = undefined;
      void rm(path, { force: true });
    },
  };
}

export function screenOf(terminal: Terminal): OutputSource {
  return { stream: terminal.stream, opened: () => terminal.handOver() };
}

/** As much as an error of whatever starts the command may take. */
const BEGINNING_LENGTH = 500;

type OnOutput = (chunk: Buffer) => Promise<void> | void;

/** What the command writes, handed on piece by piece. */
export class SupervisedOutput {
  readonly #socket: Socket;
  readonly #done: Promise<void>;
  #problem: unknown;
  #beginning = '';

  constructor(stream: Socket, onOutput: OnOutput) {
    this.#socket = stream;
    this.#done = this.#read(onOutput).catch((error: unknown) => {
      // How a terminal says that nobody has it open any more.
      if ((error as NodeJS.ErrnoException).code !== 'EIO') this.#problem = error;
    });
  }

  get beginning(): string {
    return this.#beginning;
  }

  /** Waits for the rest, which is there already when every writer is gone. */
  async finish({ isRead }: { isRead: boolean }): Promise<void> {
    const late = new AbortController();
    const ms = isRead ? DRAIN_MS : UNREAD_MS;
    await Promise.race([this.#done, sleep(ms, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    this.#socket.destroy();
    if (this.#problem !== undefined) throw this.#problem;
  }

  async #read(onOutput: OnOutput): Promise<void> {
    for await (const chunk of this.#socket) {
      const room = BEGINNING_LENGTH - this.#beginning.length;
      if (room > 0) this.#beginning += chunk.toString('utf8', 0, room);
      await onOutput(chunk as Buffer);
    }
  }
}
