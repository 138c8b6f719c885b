import fc from 'fast-check';
import { expect, test } from 'vitest';
import { columns, formatCount, harmless, oneLine } from '../../cli/terminal-text.ts';

test('whatever the text, nothing in it is left for a terminal to obey', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(harmless(text).replaceAll(/[\t\n]/g, '')).not.toMatch(/\p{Cc}/u);
    }),
  );
});

test('line breaks and tabs stay', () => {
  expect(harmless('a\r\n\tb\n')).toBe('a\n\tb\n');
});

test('one line is at most as long as asked, with an ellipsis for what was cut', () => {
  expect(oneLine('a  b\n\n c')).toBe('a b c');
  expect(oneLine('abcdef', 4)).toBe('abc…');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 50 }), (text, length) => {
      const line = oneLine(text, length);
      expect([...line].length).toBeLessThanOrEqual(length);
      expect(line).not.toMatch(/\n/);
    }),
  );
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1.0k'],
  [3_249, '3.2k'],
  [45_600, '46k'],
  [999_499, '999k'],
  [999_500, '1.0M'],
  [12_300_000, '12M'],
])('%i is shown as %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test('columns line up, colours not counted', () => {
  expect(
    columns([
      ['a', 'b'],
      ['\u001b[31mlong\u001b[39m', 'c'],
    ]),
  ).toEqual(['a     b', '\u001b[31mlong\u001b[39m  c']);
});
