import type { FileHandle } from 'node:fs/promises';

export interface TextLine {
  number: number;
  text: string;
  /** How many bytes of the line are left out, since it is too long. */
  cutBytes: number;
}

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * The lines of a file, from its first byte on, in bounded memory: of a line only the beginning is kept. Invalid UTF-8
 * is shown by the replacement character; line ends may be LF or CRLF.
 */
export async function* linesOf(
  file: FileHandle,
  mostLineBytes: number,
  signal: AbortSignal,
): AsyncGenerator<TextLine> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let lineBytes = 0;
  let last = 0;
  let number = 1;

  const take = (part: Buffer) => {
    const wanted = part.subarray(0, mostLineBytes - keptBytes);
    if (wanted.length > 0) kept.push(Buffer.from(wanted));
    keptBytes += wanted.length;
    lineBytes += part.length;
    last = part.at(-1) ?? last;
  };
  const finish = (): TextLine => {
    const hasReturn = last === RETURN;
    const whole = Buffer.concat(kept);
    const isCut = lineBytes - (hasReturn ? 1 : 0) > whole.length;
    const bytes = hasReturn && !isCut && whole.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
    const line = { number: number++, text: bytes.toString(), cutBytes: isCut ? lineBytes - bytes.length : 0 };
    kept = [];
    keptBytes = lineBytes = last = 0;
    return line;
  };

  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && end < bytesRead; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    take(chunk.subarray(start, bytesRead));
  }
  if (lineBytes > 0) yield finish();
}

/** Whether something is no text, by its first bytes. */
export function isBinary(start: Buffer): boolean {
  const odd = start.filter((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b)).length;
  return odd > start.length / 10;
}

/** What a file looks like by its first bytes. */
export async function inspectStart(
  file: FileHandle,
): Promise<{ isBinary: boolean; bom: boolean; crlf: boolean }> {
  const chunk = Buffer.alloc(8_192);
  const { bytesRead } = await file.read(chunk, 0, chunk.length, 0);
  const start = chunk.subarray(0, bytesRead);
  return {
    isBinary: isBinary(start),
    bom: start.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])),
    crlf: start.includes('\r\n'),
  };
}
