import { CadreError } from '../protocol/errors.ts';

/** What one message may be: more than any model reads at once, and less than Temporal refuses. */
const BYTES_MOST = 1_000_000;

/**
 * A text given as an argument, or on standard input for `-` or none.
 *
 * @throws CadreError `usage` where there is none, or far too much
 */
export async function readText(argument: string | undefined, what: string): Promise<string> {
  const fromInput = argument === '-' || (argument === undefined && process.stdin.isTTY !== true);
  const text = fromInput ? await standardInput() : (argument ?? '');
  if (text.trim() === '') {
    throw new CadreError('usage', `${what} is missing.`, {
      hint: 'Give it as an argument, or on standard input with -.',
    });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > BYTES_MOST) {
    throw new CadreError(
      'usage',
      `${what} is too large: ${megabytes(bytes)}, of ${megabytes(BYTES_MOST)} at most.`,
      {
        hint: 'Put it into a file in the working directory, and name the file: the agent reads what it needs.',
      },
    );
  }
  return text;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8').trimEnd();
}
