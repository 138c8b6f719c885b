import { Output, type OutputOptions } from '../output.ts';

const NOWHERE = { write: () => true };

/** Keeps the answer of a command, and what a person should know of it, in place of printing them. */
export class AnsweringOutput extends Output {
  answer: Record<string, unknown> = {};
  readonly notices: string[] = [];

  constructor(options: OutputOptions) {
    super({ ...options, format: 'json', stdout: NOWHERE });
  }

  override result(value: unknown): void {
    this.answer = value as Record<string, unknown>;
  }

  override warn(text: string): void {
    this.notices.push(text);
    super.warn(text);
  }
}
