import { CadreError } from '../protocol/errors.ts';
import { LARGE_MESSAGE_HINT, sizeProblem } from '../protocol/message-size.ts';

/**
 * A text given as an argument, or on standard input for `-` or none.
 *
 * @throws CadreError `usage` where there is none, or far too much
 */
export async function readText(argument: string | undefined, what: string): Promise<string> {
  const fromInput = argument === '-' || (argument === undefined && process.stdin.isTTY !== true);
  return checkedText(fromInput ? await standardInput() : (argument ?? ''), what);
}

/** @throws CadreError `usage` for a text that is blank, or far too much */
export function checkedText(text: string, what: string): string {
  if (text.trim() === '') {
    throw new CadreError('usage', `${what} is missing.`, {
      hint: 'Give it as an argument, or on standard input with -.',
    });
  }
  const problem = sizeProblem(text);
  if (problem !== undefined) {
    throw new CadreError('usage', `${what} is ${problem}.`, { hint: LARGE_MESSAGE_HINT });
  }
  return text;
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8').trimEnd();
}
