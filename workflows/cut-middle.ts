import { cutMark, type Stored } from '../protocol/cut-mark.ts';
import { jsonBytes } from './carried-text.ts';

/** The mark of an earlier cut says how long the text was before that. */
const MARK = /\[… \d+ of (\d+) bytes left out/;

const utf8 = new TextEncoder();

/** Whether a text takes at most so many bytes as JSON, its quotes included. */
export function isWithin(text: string, most: number): boolean {
  // A character takes six bytes at most, as `\u0001` does.
  return text.length * 6 + 2 <= most || (text.length + 2 <= most && jsonBytes(text) <= most);
}

/**
 * Cuts a text in the middle, so that it takes at most so many bytes as JSON, and says there how long it was. A limit
 * has to leave room for that: 160 bytes at least.
 */
export function cutMiddle(text: string, most: number, stored?: Stored): string {
  if (isWithin(text, most)) return text;
  const total = Math.max(utf8.encode(text).length, Number(MARK.exec(text)?.[1] ?? 0));
  const markWith = (leftOut: number): string => cutMark(`${leftOut} of ${total} bytes`, stored);
  const half = Math.max(0, Math.floor((most - jsonBytes(markWith(total))) / 2));
  const head = text.slice(0, extent(text, 0, 1, half)).replace(/[\ud800-\udbff]$/, '');
  const tail = text
    .slice(text.length - extent(text, text.length - 1, -1, half))
    .replace(/^[\udc00-\udfff]/, '');
  const leftOut = total - utf8.encode(head + tail).length;
  return `${head}${markWith(leftOut)}${tail}`;
}

/** How many characters from there on, in that direction, take so many bytes as JSON at most. */
function extent(text: string, from: number, direction: 1 | -1, most: number): number {
  let bytes = 0;
  let count = 0;
  for (let at = from; at >= 0 && at < text.length; at += direction) {
    bytes += bytesOf(text.charCodeAt(at));
    if (bytes > most) break;
    count++;
  }
  return count;
}

/** At most: of a pair of surrogates each half counts as if it stood alone. */
function bytesOf(unit: number): number {
  if (unit < 0x20) return 6;
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 6 : 3;
}
