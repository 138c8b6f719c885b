import { cutMark, type Stored } from '../../protocol/cut-mark.ts';
import { bytesWithin, estimateTokens } from '../../protocol/output-size.ts';

/** How far from the exact middle a cut may move to fall between two lines. */
const LINE_SEARCH = 0.2;

/** Whether a text is over the limit, and by that needs a handle. */
export function isTooLong(text: string, limitTokens: number): boolean {
  return Buffer.byteLength(text) > bytesWithin(limitTokens);
}

/** Cuts a long text in the middle; the cut says how much is left out and which handle holds the whole. */
export function cutOutput(text: string, limitTokens: number, stored: Stored): string {
  if (!isTooLong(text, limitTokens)) return text;
  const bytes = Buffer.from(text);
  const half = Math.floor(bytesWithin(limitTokens) / 2);
  return joinCut(bytes.subarray(0, half), bytes.subarray(-half), bytes.length, stored);
}

/**
 * Joins the beginning and the end of an output.
 *
 * @param total how many bytes the whole has
 */
export function joinCut(head: Buffer, tail: Buffer, total: number, stored: Stored): string {
  const before = head.subarray(0, headEnd(head));
  const after = tail.subarray(tailStart(tail));
  const leftOut = total - before.length - after.length;
  const mark = cutMark(`about ${estimateTokens(leftOut)} tokens (${leftOut} bytes)`, stored);
  return `${before.toString()}${mark}${after.toString()}`;
}

/** The end of the last line, if one ends near; else of the last whole character. */
function headEnd(head: Buffer): number {
  const newline = head.lastIndexOf(0x0a);
  return newline >= head.length * (1 - LINE_SEARCH) ? newline : wholeCharacters(head);
}

function tailStart(tail: Buffer): number {
  const newline = tail.indexOf(0x0a);
  if (newline >= 0 && newline < tail.length * LINE_SEARCH) return newline + 1;
  let start = 0;
  while (start < 3 && isContinuation(tail[start])) start++;
  return start;
}

/** Up to where the last character is not split; of use for valid UTF-8 only, harmless for the rest. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
