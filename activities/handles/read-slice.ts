import { withNulShown } from '../with-nul-shown.ts';
import {
  charactersIn,
  countCharacters,
  fitting,
  indexOfCharacter,
  mostFor,
  type Room,
  textOf,
} from './characters.ts';
import type { HandleContent } from './handle-content.ts';

/** From a character on, up to another one that is left out; negative ones count from the end. */
export interface Slice {
  start?: number | undefined;
  end?: number | undefined;
}

export interface SlicePart {
  text: string;
  /** Where it begins and ends, in characters. */
  start: number;
  end: number;
  /** Whether the slice goes on behind it. */
  more: boolean;
  /** How many characters there are, where that had to be found out. */
  total?: number;
}

/** The characters of a slice, as many as there is room for, in bounded memory. */
export async function readSlice(
  content: HandleContent,
  { start = 0, end = Number.MAX_SAFE_INTEGER }: Slice,
  room: Room,
  signal: AbortSignal,
): Promise<SlicePart> {
  const counted = start < 0 || end < 0 ? await countCharacters(content, signal) : undefined;
  const from = fromEnd(start, counted);
  // One more than fits tells whether there is more.
  const stop = Math.min(fromEnd(end, counted), from + mostFor(room) + 1);
  const parts: string[] = [];
  let at = 0;
  let total = counted;
  for await (const { text, characters } of textOf(content, signal)) {
    if (at >= stop) break;
    const next = at + characters;
    if (next > from) {
      const whole = text.slice(0, indexOfCharacter(text, stop - at));
      parts.push(whole.slice(indexOfCharacter(whole, from - at)));
    }
    at = next;
  }
  if (at < stop) total ??= at;
  const found = withNulShown(parts.join(''));
  const text = fitting(found, room);
  return {
    text,
    start: from,
    end: from + charactersIn(text),
    more: text.length < found.length,
    ...(total === undefined ? {} : { total }),
  };
}

function fromEnd(place: number, total = 0): number {
  return place < 0 ? Math.max(0, total + place) : place;
}
