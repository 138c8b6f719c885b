import { createReadStream } from 'node:fs';
import { rolloutProblem } from './problem.ts';

/** A line of a file, and where it begins. */
export interface FileLine {
  /** From 1. */
  number: number;
  offset: number;
  text: string;
}

/** What is longer is no line of a rollout: it need not be held to see that. */
const LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * The lines of a file, one after the other; never more of it is held than one of them.
 *
 * @param from where a line begins; `number` counts on from there
 * @throws CadreError `rollout_invalid` for a line that is no text, or has no end
 */
export async function* readLines(path: string, from = 0, first = 1): AsyncGenerator<FileLine> {
  let number = first;
  let offset = from;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (): FileLine => {
    const bytes = Buffer.concat(parts);
    const line = { number, offset, text: decoded(bytes, number) };
    offset += bytes.length + 1;
    number++;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of createReadStream(path, { start: from, highWaterMark: 256 * 1024 })) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      parts.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      yield take();
    }
    parts.push(rest);
    length += rest.length;
    if (length > LINE_BYTES)
      throw rolloutProblem(number, `it is longer than ${LINE_BYTES / 1024 / 1024} MiB`);
  }
  if (length > 0) yield take();
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Editors of some systems add what belongs to no line. */
function decoded(bytes: Buffer, number: number): string {
  try {
    return utf8.decode(bytes).replace(/\r$/, '');
  } catch {
    throw rolloutProblem(number, 'it is not text (UTF-8)');
  }
}
