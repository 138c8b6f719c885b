import { isAscii } from 'node:buffer';
import type { HandleContent } from './handle-content.ts';

/** A character is a code point here, so that none is ever split. Invalid UTF-8 is read as the replacement character. */

/** How much of a text may be handed over. */
export interface Room {
  characters: number;
  bytes: number;
}

export interface TextPiece {
  text: string;
  characters: number;
}

export async function* textOf(content: HandleContent, signal: AbortSignal): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const chunk of content.chunks(signal)) {
    const text = decoder.decode(chunk, { stream: true });
    yield { text, characters: isAscii(chunk) ? text.length : charactersIn(text) };
  }
  const text = decoder.decode();
  yield { text, characters: charactersIn(text) };
}

export function charactersIn(text: string): number {
  let pairs = 0;
  for (let index = 0; index < text.length; index++) if (isFirstOfPair(text, index)) pairs++;
  return text.length - pairs;
}

/** Where the nth character of a text begins; its end, where it has fewer. */
export function indexOfCharacter(text: string, n: number): number {
  let index = 0;
  for (let left = n; left > 0 && index < text.length; left--) index += isFirstOfPair(text, index) ? 2 : 1;
  return index;
}

/** As much of the beginning of a text as there is room for. */
export function fitting(text: string, room: Room): string {
  const within = text.slice(0, indexOfCharacter(text, room.characters));
  const bytes = Buffer.from(within);
  if (bytes.length <= room.bytes) return within;
  // In the middle of a stream, a decoder holds back the character that is split.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, room.bytes), {
    stream: true,
  });
}

/** The same of a text of lines: whole lines, or else the beginning of the first. */
export function fittingLines(text: string, room: Room): { text: string; lines: number; isWhole: boolean } {
  const fit = fitting(text, room);
  if (fit.length < text.length && text[fit.length] !== '\n') {
    const lineEnd = fit.lastIndexOf('\n');
    if (lineEnd < 0) return { text: fit, lines: 0, isWhole: false };
    return { text: fit.slice(0, lineEnd), lines: newlinesIn(fit), isWhole: false };
  }
  return { text: fit, lines: newlinesIn(fit) + 1, isWhole: fit.length === text.length };
}

/** No text of more characters than this needs to be looked at to fill the room. */
export function mostFor({ characters, bytes }: Room): number {
  return Math.min(characters, bytes);
}

export async function countCharacters(content: HandleContent, signal: AbortSignal): Promise<number> {
  let count = 0;
  for await (const { characters } of textOf(content, signal)) count += characters;
  return count;
}

/** A last line counts, whether a newline ends it or not. */
export async function countLines(content: HandleContent, signal: AbortSignal): Promise<number> {
  let newlines = 0;
  let last = NEWLINE;
  for await (const chunk of content.chunks(signal)) {
    for (const byte of chunk) if (byte === NEWLINE) newlines++;
    last = chunk.at(-1) ?? last;
  }
  return last === NEWLINE ? newlines : newlines + 1;
}

const NEWLINE = 0x0a;

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** What was decoded holds whole pairs only. */
function isFirstOfPair(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800;
}
