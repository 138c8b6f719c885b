import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import { countCharacters, countLines } from '../../../activities/handles/characters.ts';
import { fileContent, type HandleContent } from '../../../activities/handles/handle-content.ts';
import { readRange } from '../../../activities/handles/read-range.ts';
import { readSlice } from '../../../activities/handles/read-slice.ts';

vi.setConfig({ testTimeout: 120_000 });

const { signal } = new AbortController();
const folder = mkdtempSync(join(tmpdir(), 'cadre-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'content');

/** What a handle with these bytes is read as. */
async function opened<T>(
  bytes: Uint8Array | string,
  read: (content: HandleContent) => Promise<T>,
): Promise<T> {
  writeFileSync(file, bytes);
  const content = await fileContent(file);
  return read(content).finally(() => content.close());
}

/** Long enough to be read in several pieces when it is repeated; with characters of one to four bytes. */
const text = fc
  .tuple(
    fc.array(fc.oneof(fc.constantFrom('\n', '\r\n', 'é', '😀', '∑', 'a'), fc.string({ unit: 'grapheme' }))),
    fc.constantFrom(1, 1, 1, 40_000),
  )
  .map(([parts, times]) =>
    parts.join('').replaceAll('\0', '').repeat(times).slice(0, 900_000).toWellFormed(),
  );
const place = fc.oneof(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -1_000_000, max: 1_000_000 }));
const plenty = { characters: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

test('a slice is that of the same string', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.option(place), fc.option(place), async (whole, start, end) => {
      const slice = { start: start ?? undefined, end: end ?? undefined };
      const { text: read, more } = await opened(whole, (content) =>
        readSlice(content, slice, plenty, signal),
      );
      expect(read).toBe([...whole].slice(slice.start, slice.end).join(''));
      expect(more).toBe(false);
    }),
    { numRuns: 150 },
  );
});

test('slices within bounds, one after the other, make the whole, and none is over its bounds', async () => {
  const bound = fc.integer({ min: 4, max: 60 });
  await fc.assert(
    fc.asyncProperty(
      text.map((t) => t.slice(0, 500).toWellFormed()),
      bound,
      bound,
      async (whole, characters, bytes) => {
        await opened(whole, async (content) => {
          let read = '';
          for (let start = 0, more = true; more; ) {
            const part = await readSlice(content, { start }, { characters, bytes }, signal);
            expect([...part.text].length).toBeLessThanOrEqual(characters);
            expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(bytes);
            read += part.text;
            start = part.end;
            more = part.more;
          }
          expect(read).toBe(whole);
        });
      },
    ),
  );
});

const linesOf = (whole: string): string[] => (whole === '' ? [] : whole.replace(/\n$/, '').split('\n'));

test('a range of lines is that of the same string', async () => {
  const number = place.filter((line) => line !== 0);
  await fc.assert(
    fc.asyncProperty(text, number, fc.option(number), async (whole, start, end) => {
      const lines = linesOf(whole);
      const from = start < 0 ? Math.max(0, lines.length + start) : start - 1;
      const to = end === null ? lines.length : end < 0 ? Math.max(0, lines.length + end + 1) : end;
      const range = { start, end: end ?? undefined };
      const part = await opened(whole, (content) => readRange(content, range, plenty, signal));
      const expected = lines.slice(from, to);
      expect(part.text).toBe(expected.join('\n'));
      expect(part.lines).toBe(expected.length);
      expect(part.more).toBe(false);
    }),
    { numRuns: 150 },
  );
});

test('ranges within bounds lead through all lines, and through a line that is too long by characters', async () => {
  await fc.assert(
    fc.asyncProperty(
      text.map((t) => t.slice(0, 400).toWellFormed()),
      fc.integer({ min: 4, max: 60 }),
      async (whole, bytes) => {
        const room = { characters: 1_000, bytes };
        await opened(whole, async (content) => {
          const read: string[] = [];
          for (let start = 1, more = true; more; ) {
            const part = await readRange(content, { start }, room, signal);
            expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(bytes);
            if (part.nextCharacter !== undefined) {
              const rest = await readSlice(content, { start: part.nextCharacter }, plenty, signal);
              const line = part.text + rest.text.split('\n', 1)[0];
              read.push(line);
              start = part.first + 1;
              more = rest.text.includes('\n') && rest.text.indexOf('\n') < rest.text.length - 1;
              continue;
            }
            if (part.lines > 0) read.push(...part.text.split('\n'));
            start = part.first + part.lines;
            more = part.more;
          }
          expect(read).toEqual(linesOf(whole));
        });
      },
    ),
  );
});

test('invalid UTF-8 is read as everywhere, also where it is split between two pieces', async () => {
  const byte = fc.constantFrom(0x61, 0x0a, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xff, 0xed, 0xa0);
  await fc.assert(
    fc.asyncProperty(
      fc.array(byte, { maxLength: 12 }),
      fc.integer({ min: -8, max: 2 }),
      async (bytes, shift) => {
        const odd = Buffer.concat([
          Buffer.alloc(256 * 1024 + shift, 'x'),
          Buffer.from(bytes),
          Buffer.from('end'),
        ]);
        const part = await opened(odd, (content) => readSlice(content, {}, plenty, signal));
        expect(part.text).toBe(odd.toString());
      },
    ),
  );
});

test('counts are those of the string', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (whole) => {
      const [characters, lines] = await opened(whole, async (content) => [
        await countCharacters(content, signal),
        await countLines(content, signal),
      ]);
      expect(characters).toBe([...whole].length);
      expect(lines).toBe(linesOf(whole).length);
    }),
  );
});
