import type { OutputStream } from '../output.ts';

/** What of a terminal's stdin is used. */
export interface KeyStream {
  setRawMode(raw: boolean): unknown;
  on(event: 'data', take: (chunk: Buffer | string) => void): unknown;
  off(event: 'data', take: (chunk: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

const REPORT_FOCUS = '\u001b[?1004h';
const REPORT_NO_FOCUS = '\u001b[?1004l';
/** Sequences that keys and the terminal itself send; one that is cut stays for the next chunk. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SEQUENCE = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^[O])/;
const MOST_OF_A_SEQUENCE = 32;
/** In raw mode these are only bytes; what they usually do is done here. */
const SIGNAL_KEYS: Readonly<Record<string, NodeJS.Signals>> = { '\u0003': 'SIGINT', '\u001c': 'SIGQUIT' };
const SUSPEND = '\u001a';

/** The keys of a terminal and, if wanted, whether it has the focus; the terminal is left as it was found. */
export class TerminalInput {
  /** Told of each key that is pressed. */
  onKey: ((key: string) => void) | undefined;
  readonly #keys: KeyStream;
  readonly #screen: OutputStream;
  readonly #watchesFocus: boolean;
  #focused = true;
  #users = 0;
  #rest = '';

  /** @param watchesFocus the terminal is asked to tell when it gets and loses the focus */
  constructor(keys: KeyStream, screen: OutputStream, watchesFocus: boolean) {
    this.#keys = keys;
    this.#screen = screen;
    this.#watchesFocus = watchesFocus;
  }

  /** Believed until the terminal says otherwise. */
  get isFocused(): boolean {
    return this.#focused;
  }

  /** Takes the keys over, until as many have released them as have acquired them. */
  acquire(): void {
    this.#users++;
    if (this.#users === 1) this.#open();
  }

  release(): void {
    if (this.#users === 0) return;
    this.#users--;
    if (this.#users === 0) this.#close();
  }

  readonly #restore = (): void => {
    this.#users = 0;
    this.#close();
  };

  #open(): void {
    this.#keys.setRawMode(true);
    this.#keys.on('data', this.#take);
    this.#keys.resume();
    if (this.#watchesFocus) this.#screen.write(REPORT_FOCUS);
    process.on('exit', this.#restore);
  }

  #close(): void {
    process.off('exit', this.#restore);
    if (this.#watchesFocus) this.#screen.write(REPORT_NO_FOCUS);
    this.#keys.off('data', this.#take);
    this.#keys.setRawMode(false);
    this.#keys.pause();
  }

  readonly #take = (chunk: Buffer | string): void => {
    let text = this.#rest + chunk.toString();
    this.#rest = '';
    while (text !== '') {
      if (text.startsWith('\u001b')) {
        const [sequence] = SEQUENCE.exec(text) ?? [];
        if (sequence === undefined) {
          if (text.length < MOST_OF_A_SEQUENCE) this.#rest = text;
          return;
        }
        if (sequence === '\u001b[I') this.#focused = true;
        if (sequence === '\u001b[O') this.#focused = false;
        text = text.slice(sequence.length);
        continue;
      }
      const [key = ''] = text;
      text = text.slice(key.length);
      this.#press(key);
    }
  };

  #press(key: string): void {
    const signal = SIGNAL_KEYS[key];
    if (signal !== undefined) process.kill(process.pid, signal);
    else if (key === SUSPEND) this.#suspend();
    else this.onKey?.(key);
  }

  #suspend(): void {
    this.#close();
    process.once('SIGCONT', () => {
      if (this.#users > 0) this.#open();
    });
    process.kill(process.pid, 'SIGTSTP');
  }
}
