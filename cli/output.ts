import type { Writable } from 'node:stream';
import pc from 'picocolors';
import type { ErrorBody } from '../protocol/errors.ts';
import { fullError } from './full-error.ts';
import { harmless } from './terminal-text.ts';

export type Format = 'text' | 'json' | 'jsonl';
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface OutputStream extends Pick<Writable, 'write'> {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

export interface OutputOptions {
  format: Format;
  level: LogLevel;
  color: 'auto' | 'always' | 'never';
  stdout: OutputStream;
  stderr: OutputStream;
  environment: Readonly<Record<string, string | undefined>>;
}

/** The two streams of a command: stdout takes the answer or JSON and nothing else, stderr what is told on the way. */
export class Output {
  readonly format: Format;
  readonly level: LogLevel;
  readonly stderr: OutputStream;
  /** For stderr. */
  readonly colors: ReturnType<typeof pc.createColors>;
  readonly #stdout: OutputStream;
  /** Something drawn in place on stderr that has to make way for a line. */
  #above: ((line: string) => void) | undefined;

  constructor(options: OutputOptions) {
    this.format = options.format;
    this.level = options.level;
    this.stderr = options.stderr;
    this.#stdout = options.stdout;
    this.colors = pc.createColors(wantsColor(options));
  }

  /** Whether stderr is a terminal on which something may be redrawn. */
  get isLive(): boolean {
    return this.stderr.isTTY === true && this.shows('info') && this.format !== 'jsonl';
  }

  shows(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(this.level);
  }

  /** What the command was asked for: the value as JSON, or its text. */
  result(value: unknown, text: string | (() => string)): void {
    if (this.format === 'jsonl') this.line(value);
    else if (this.format === 'json') this.#json(value);
    else this.text(typeof text === 'string' ? text : text());
  }

  /** Text on stdout; nothing with --json. An empty text prints nothing. */
  text(text: string): void {
    if (this.format !== 'text' || text === '') return;
    const shown = this.#stdout.isTTY === true ? harmless(text) : text;
    this.#stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
  }

  /** What goes to stdout as it is, whatever the format; waits for whoever reads it. */
  raw(text: string): Promise<void> {
    return new Promise((resolve) => this.#stdout.write(text, () => resolve()));
  }

  /** One line of `--jsonl`. */
  line(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value)}\n`);
  }

  info(text: string): void {
    this.#log('info', text);
  }

  debug(text: string): void {
    this.#log('debug', this.colors.dim(text));
  }

  warn(text: string): void {
    this.#log('warn', `${this.colors.yellow('warning:')} ${text}`);
  }

  /** With --json and --jsonl the error is the answer. */
  error(error: ErrorBody, trace?: string): void {
    const full = fullError(error);
    if (this.format !== 'text') {
      this.line({ error: full });
    } else {
      this.#log('error', `${this.colors.red('error:')} ${harmless(full.message)}`);
      this.#log('error', `  ${harmless(full.hint)}`);
    }
    if (trace !== undefined) this.debug(trace);
  }

  /** While something is drawn in place, lines go through it. */
  above(write: ((line: string) => void) | undefined): void {
    this.#above = write;
  }

  #log(level: LogLevel, text: string): void {
    if (!this.shows(level)) return;
    if (this.#above === undefined) this.stderr.write(`${text}\n`);
    else this.#above(text);
  }

  #json(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value, null, this.#stdout.isTTY === true ? 2 : undefined)}\n`);
  }
}

function wantsColor({ color, environment, stderr }: OutputOptions): boolean {
  if (color !== 'auto') return color === 'always';
  if (environment.NO_COLOR) return false;
  if (environment.FORCE_COLOR) return environment.FORCE_COLOR !== '0';
  return stderr.isTTY === true && environment.TERM !== 'dumb';
}
