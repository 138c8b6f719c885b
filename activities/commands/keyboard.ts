import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/index.ts';
import type { Terminal } from '../sandbox/terminal.ts';

/** What a terminal keeps of a line that has not ended, in bytes; and in all of what was not read, before it takes no more. */
const MOST_LINE = process.platform === 'darwin' ? 1_023 : 4_095;
/** How often to look whether there is room again. */
const AGAIN_MS = 10;
/** What is typed passes through buffers that empty a moment later, also where nobody wants to wait. */
const LEAST_MS = 1_000;

/** Ctrl-C, Ctrl-Z and Ctrl-\: as signals they overtake what was typed before, and void it. */
const SIGNALS = ['\u0003', '\u001a', '\u001c'];
/** Behind these, a line begins; beside signals: Enter, Ctrl-D, Ctrl-U. */
const LINE_ENDS = ['\n', '\r', '\u0004', '\u0015', ...SIGNALS];

/** How far typing has come. */
export interface Typed {
  /** Code units, of the text that was to be typed. */
  characters: number;
  /** A signal came first, and could not be typed, as the terminal takes nothing. */
  lostSignal: boolean;
}

/** Types to a program as far as it reads: what nobody reads is held by the terminal alone, and there is little room. */
export class Keyboard {
  readonly #terminal: Terminal;
  /** The end of a character whose beginning was typed. */
  #rest: Buffer = Buffer.alloc(0);
  /** How much of a line was typed that has not ended, in bytes. */
  #line = 0;
  /** As much may wait to be read, in bytes. */
  #unread = 0;
  #isBusy = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /**
   * Types until all is taken, the time is up, or `signal` aborts; what is not taken by then is not typed later.
   *
   * @throws CadreError `invalid_arguments` where the terminal would lose a part of it, `tool_failed` while another call types
   */
  async type(chars: string, ms: number, signal: AbortSignal): Promise<Typed> {
    if (this.#isBusy) throw new CadreError('tool_failed', 'Another call is typing to this session now.');
    this.#isBusy = true;
    try {
      const end = performance.now() + Math.max(ms, LEAST_MS);
      const all = [...chars];
      const firstOther = all.findIndex((char) => !SIGNALS.includes(char));
      const signals = firstOther === -1 ? all : all.slice(0, firstOther);
      const text = chars.slice(signals.length);
      await this.#requireShortLines(text, signals.length > 0);
      for (const [index, key] of signals.entries()) {
        if (!(await this.#typeSignal(key))) return { characters: index, lostSignal: true };
      }
      return { characters: signals.length + (await this.#typeText(text, end, signal)), lostSignal: false };
    } finally {
      this.#isBusy = false;
    }
  }

  async #typeText(text: string, end: number, signal: AbortSignal): Promise<number> {
    const before = this.#rest.length;
    const bytes = Buffer.concat([this.#rest, Buffer.from(text)]);
    let done = 0;
    for (;;) {
      done += this.#terminal.write(bytes.subarray(done));
      const isLate = performance.now() >= end || signal.aborted || this.#terminal.isClosed;
      if (done === bytes.length || isLate) break;
      await sleep(AGAIN_MS);
    }
    const whole = characterEnd(bytes, done);
    this.#rest = Buffer.from(bytes.subarray(done, whole));
    const typed = bytes.subarray(before, Math.max(before, whole)).toString();
    this.#unread += done;
    this.#line = lineBytes(typed, this.#line).last;
    return typed.length;
  }

  /** @returns false where the terminal does not take it */
  async #typeSignal(key: string): Promise<boolean> {
    const terminal = this.#terminal;
    let isTyped = terminal.write(Buffer.from(key)) > 0;
    this.#unread += 1;
    if (this.#unread >= MOST_LINE && (await terminal.modes())?.signals) {
      // Behind what is not read it would wait for that; a terminal that gets it drops all that was typed before.
      await terminal.dropInput();
      if (!isTyped) {
        isTyped = terminal.write(Buffer.from(key)) > 0;
        await terminal.dropInput();
      }
      this.#unread = 0;
    }
    if (isTyped) {
      this.#rest = Buffer.alloc(0);
      this.#line = 0;
    }
    return isTyped;
  }

  async #requireShortLines(text: string, isNew: boolean): Promise<void> {
    const { longest } = lineBytes(text, isNew ? 0 : this.#line);
    if (longest <= MOST_LINE || (await this.#terminal.modes())?.byLine === false) return;
    throw new CadreError(
      'invalid_arguments',
      `Nothing was typed: a line of it has ${longest} bytes, and while its program reads by lines, a terminal keeps ${MOST_LINE} of one and loses the rest.`,
      { hint: 'Break the line, or write the text to a file for the program to read.' },
    );
  }
}

/** @param begun of a line that the text goes on with, in bytes */
function lineBytes(text: string, begun: number): { longest: number; last: number } {
  let longest = begun;
  let last = begun;
  for (const char of text) {
    last = LINE_ENDS.includes(char) ? 0 : last + Buffer.byteLength(char);
    longest = Math.max(longest, last);
  }
  return { longest, last };
}

/** Where the character ends that stands at `offset`, or `offset` itself where one begins there. */
function characterEnd(bytes: Buffer, offset: number): number {
  let end = offset;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end++;
  return end;
}
