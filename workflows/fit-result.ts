import { type Stored, whereStored } from '../protocol/cut-mark.ts';
import { isAgentId } from '../protocol/ids.ts';
import { jsonBytes } from './carried-text.ts';
import { cutMiddle, isWithin } from './cut-middle.ts';

/** Shorter texts are not cut: a cut has to leave something to read. */
const LEAST = 180;
/** What has no list to be cut, such as the statuses of those waited for, is left whole up to here. */
const MOST_UNLISTED = 1_000_000;

/** How a result is to be cut, so that it fits. */
export interface Cuts {
  /** The most bytes that a text may take. */
  share: number;
  /** The texts that are longer. */
  texts: string[];
  /** Whether it is too long even so, and loses the last entries of a list. */
  losesEntries: boolean;
}

/**
 * Shares the room out among the texts of a result: what the short ones leave, the long ones have together. Ids are
 * never cut.
 *
 * @param most bytes of JSON
 */
export function planCuts(result: unknown, most: number): Cuts {
  const all = textsOf(result);
  const sizes = all.map((text) => jsonBytes(text));
  const around = jsonBytes(mapTexts(result, () => '')) - 2 * sizes.length;
  const share = shareOf(sizes, most - around);
  const bytes = sizes.reduce((sum, size) => sum + Math.min(size, share), around);
  return {
    share,
    texts: [...new Set(all)].filter((text) => !isWithin(text, share)),
    losesEntries: bytes > most && longestList(result, bytes) !== undefined,
  };
}

function shareOf(sizes: number[], all: number): number {
  let room = all;
  const ascending = sizes.toSorted((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.max(LEAST, Math.floor(room / (ascending.length - index)));
    if (size > share) return share;
    room -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The result as it was planned. One that loses entries says how many.
 *
 * @param keptOf where a text, or the whole result as JSON, was stored
 */
export function applyCuts<T>(
  result: T,
  { texts, share, losesEntries }: Cuts,
  most: number,
  keptOf: (text: string) => Stored | undefined = () => undefined,
): T {
  const short =
    texts.length === 0 ? result : (mapTexts(result, (text) => cutMiddle(text, share, keptOf(text))) as T);
  return losesEntries ? withoutLast(short, most, keptOf(JSON.stringify(result))) : short;
}

/** Both in one, where nothing is stored. */
export function fitted<T>(result: T, most: number): T {
  return applyCuts(result, planCuts(result, most), most);
}

function withoutLast<T>(result: T, most: number, kept: Stored | undefined): T {
  const bytes = jsonBytes(result);
  const longest = longestList(result, bytes);
  if (longest === undefined) return result;
  const [name, list] = longest;
  const entries = Object.entries(list);
  let room = most - (bytes - jsonBytes(list)) - LEAST;
  const end = entries.findIndex(([key, entry]) => {
    room -= jsonBytes(entry) + 1 + (Array.isArray(list) ? 0 : jsonBytes(key) + 1);
    return room < 0;
  });
  if (end < 0) return result;
  const first = entries.slice(0, end);
  const left = Array.isArray(list) ? first.map(([, entry]) => entry) : Object.fromEntries(first);
  const leftOut = `${entries.length - end} of ${entries.length} ${name}${whereStored(kept)}`;
  return { ...result, [name]: left, left_out: leftOut };
}

function longestList(result: unknown, bytes: number): [name: string, list: object] | undefined {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return undefined;
  const isList = (value: unknown): value is object =>
    Array.isArray(value) || (bytes > MOST_UNLISTED && typeof value === 'object' && value !== null);
  const lists = Object.entries(result).filter((entry): entry is [string, object] => isList(entry[1]));
  return lists.toSorted(([, a], [, b]) => jsonBytes(b) - jsonBytes(a))[0];
}

function textsOf(value: unknown): string[] {
  const texts: string[] = [];
  mapTexts(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** The same value with other texts; ids stay. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return isAgentId(value) ? value : change(value);
  if (Array.isArray(value)) return value.map((entry) => mapTexts(entry, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, mapTexts(entry, change)]));
}
