import { withNulShown } from '../with-nul-shown.ts';
import { charactersIn, countLines, fittingLines, mostFor, type Room, textOf } from './characters.ts';
import type { HandleContent } from './handle-content.ts';

/** Lines from 1, the last one included; negative ones count from the end, -1 is the last. */
export interface LineRange {
  start?: number | undefined;
  end?: number | undefined;
}

export interface RangePart {
  text: string;
  /** The first line shown, and how many of them whole; none where the first one is cut. */
  first: number;
  lines: number;
  /** Whether the range goes on behind it. */
  more: boolean;
  /** Where a line that is cut goes on, in characters. */
  nextCharacter?: number;
  /** How many lines there are, where nothing was found. */
  total?: number;
}

/** The lines of a range, as many as there is room for, in bounded memory. The last one comes without its newline. */
export async function readRange(
  content: HandleContent,
  { start = 1, end = Number.MAX_SAFE_INTEGER }: LineRange,
  room: Room,
  signal: AbortSignal,
): Promise<RangePart> {
  const counted = start < 0 || end < 0 ? await countLines(content, signal) : undefined;
  const first = Math.max(1, fromEnd(start, counted));
  const last = fromEnd(end, counted);
  const found = await collect(content, first, last, mostFor(room), signal);
  if (found.text === undefined) {
    return { text: '', first, lines: 0, more: false, total: counted ?? (await countLines(content, signal)) };
  }
  const { text, lines, isWhole } = fittingLines(found.text, room);
  const part = { text, first, lines, more: !isWhole };
  if (isWhole || lines > 0) return part;
  return { ...part, nextCharacter: found.begins + charactersIn(text) };
}

/** At least `most` characters of the range, where it has so many. */
async function collect(
  content: HandleContent,
  first: number,
  last: number,
  most: number,
  signal: AbortSignal,
): Promise<{ text?: string; begins: number }> {
  const parts: string[] = [];
  let size = 0;
  let line = 1;
  let offset = 0;
  let begins: number | undefined;
  for await (const { text, characters } of textOf(content, signal)) {
    let at = 0;
    for (; line < first && at < text.length; line++) {
      const newline = text.indexOf('\n', at);
      if (newline < 0) break;
      at = newline + 1;
    }
    if (line >= first && at < text.length && line <= last) {
      begins ??= offset + charactersIn(text.slice(0, at));
      let stop = at;
      for (; line <= last && stop < text.length; line++) {
        const newline = text.indexOf('\n', stop);
        stop = newline < 0 ? text.length : newline + 1;
        if (newline < 0) break;
      }
      parts.push(text.slice(at, stop));
      size += stop - at;
      // A character takes up to two places of a string.
      if (line > last || size > 2 * most + 2) break;
    }
    offset += characters;
  }
  if (begins === undefined) return { begins: 0 };
  return { text: withNulShown(parts.join('').replace(/\n$/, '')), begins };
}

function fromEnd(line: number, total = 0): number {
  return line < 0 ? total + 1 + line : line;
}
