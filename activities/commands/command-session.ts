import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentId, CadreError } from '../../protocol/index.ts';
import { runSupervised, type SupervisedEnd } from '../sandbox/supervised.ts';
import { Terminal } from '../sandbox/terminal.ts';
import { Keyboard } from './keyboard.ts';
import { type Look, SessionOutput } from './session-output.ts';

export interface SessionCommand {
  agent: AgentId;
  argv: readonly string[];
  cwd: string;
  environment: Readonly<Record<string, string>>;
  sandboxed: boolean;
  hasNamespace: boolean;
  /** For when it has ended: what it did to what is protected, a sentence each. */
  release(): Promise<string[]>;
  hasTerminal: boolean;
  /** What is typed is a command itself, and a person has to allow it. */
  asksForInput: boolean;
  /** What people and models know it by. */
  title: string;
  stateDir: string;
  /** Of one look at its output. */
  limitTokens: number;
}

const INTERRUPT = '\u0003';
const SHOWN_CHARACTERS = 20;

/** A command that may go on after the call that has started it, in a process group of its own. */
export class CommandSession {
  readonly id: number;
  readonly command: SessionCommand;
  readonly #output: SessionOutput;
  readonly #terminal: Terminal | undefined;
  readonly #keyboard: Keyboard | undefined;
  readonly #stopped = new AbortController();
  #notes: string[] = [];
  readonly #done: Promise<void>;
  readonly #started = performance.now();
  #send: ((signal: NodeJS.Signals) => void) | undefined;
  #end: SupervisedEnd | undefined;
  #problem: unknown;
  #isOver = false;

  /** @throws CadreError where no terminal can be had */
  constructor(id: number, command: SessionCommand) {
    this.id = id;
    this.command = command;
    const { stateDir, limitTokens, hasTerminal } = command;
    this.#output = new SessionOutput({ stateDir, limitTokens, isTerminal: hasTerminal });
    this.#terminal = hasTerminal ? new Terminal() : undefined;
    this.#keyboard = this.#terminal && new Keyboard(this.#terminal);
    this.#done = this.#run();
  }

  /** How it has ended; undefined while it runs. */
  get end(): SupervisedEnd | undefined {
    return this.#end;
  }

  /** Nothing of it runs any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get ageMs(): number {
    return performance.now() - this.#started;
  }

  /**
   * Types as far as the program reads within so many ms.
   *
   * @returns what went otherwise than asked for, a sentence; undefined when all was typed
   * @throws CadreError `invalid_arguments` where there is no terminal, unless it is Ctrl-C, and where it would lose a part
   */
  async type(chars: string, ms: number, signal: AbortSignal): Promise<string | undefined> {
    if (this.#isOver || chars === '') return undefined;
    if (this.#keyboard === undefined) {
      if (chars !== INTERRUPT) throw noInput(this.id);
      this.#send?.('SIGINT');
      return undefined;
    }
    const { characters, lostSignal } = await this.#keyboard.type(chars, ms, signal);
    if (lostSignal && chars.startsWith(INTERRUPT)) {
      this.#send?.('SIGINT');
      const others = chars === INTERRUPT ? '' : ' Nothing else was typed.';
      return `The terminal takes nothing more, so the program was sent SIGINT in place of Ctrl-C.${others}`;
    }
    return characters === chars.length ? undefined : partly(chars, characters);
  }

  /** Until it has ended, or for so many ms. An abort ends it with all it started, and throws its reason. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const enough = new AbortController();
    const stop = () => void this.stop(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) stop();
      const passed = sleep(ms, undefined, { signal: enough.signal }).catch(() => {});
      await Promise.race([this.#done, passed]);
      if (!signal.aborted) return;
      await this.#done;
      throw signal.reason;
    } finally {
      enough.abort();
      signal.removeEventListener('abort', stop);
    }
  }

  /** What came since the last look. When it says that the command has ended, this was the last one. */
  async look(maxTokens?: number): Promise<Look & { end?: SupervisedEnd; notes?: string[] }> {
    const isLast = this.#isOver;
    if (this.#problem !== undefined) {
      await this.#output.discard();
      throw this.#problem;
    }
    const look = await this.#output.take(maxTokens, isLast);
    return isLast && this.#end !== undefined ? { ...look, end: this.#end, notes: this.#notes } : look;
  }

  /** Ends it with all it started; resolves when nothing of it runs any more. */
  async stop(reason: unknown): Promise<void> {
    this.#stopped.abort(reason);
    await this.#done;
  }

  /** For one that nobody looks at any more. */
  async discard(): Promise<void> {
    await this.stop(new Error('it was ended'));
    await this.#output.discard();
  }

  async #run(): Promise<void> {
    try {
      this.#end = await runSupervised({
        ...this.command,
        terminal: this.#terminal,
        signal: this.#stopped.signal,
        onOutput: (chunk) => this.#output.write(chunk),
        onStart: (send) => {
          this.#send = send;
        },
      });
    } catch (error) {
      this.#problem = error;
    } finally {
      this.#terminal?.close();
      this.#notes = await this.command.release().catch((error: unknown) => [String(error)]);
      this.#isOver = true;
    }
  }
}

function partly(chars: string, typed: number): string {
  const next = JSON.stringify(chars.slice(typed, typed + SHOWN_CHARACTERS));
  return `Typed ${typed} of ${chars.length} characters: the program does not read, and its terminal holds no more. The rest, from ${next} on, was not typed and will not be.`;
}

function noInput(id: number): CadreError {
  return new CadreError('invalid_arguments', `Session ${id} takes no input: it has no terminal.`, {
    hint: 'Nothing was sent. chars "\\u0003" interrupts it, empty chars look at its output; start a command that is to be typed to with tty: true.',
  });
}
