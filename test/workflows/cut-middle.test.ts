import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutMiddle } from '../../workflows/cut-middle.ts';

const bytes = (text: string) => Buffer.byteLength(JSON.stringify(text));

describe('a text that is cut in the middle', () => {
  test('says how long it was, and where the whole is', () => {
    const handle = `h_${'0'.repeat(32)}`;
    expect(cutMiddle('x'.repeat(1_000), 200, { handle })).toMatch(
      new RegExp(
        `^x+\\n\\[… \\d+ of 1000 bytes left out; stored as ${handle} \\(handle_read reads it\\) …\\]\\nx+$`,
      ),
    );
    expect(cutMiddle('x'.repeat(1_000), 200, { problem: 'the disk is full' })).toContain(
      '; not stored: the disk is full …]',
    );
  });

  test('says so also where it was cut before', () => {
    const once = cutMiddle('x'.repeat(50_000), 5_000);
    expect(cutMiddle(once, 500)).toMatch(/^x+\n\[… 49\d\d\d of 50000 bytes left out …\]\nx+$/);
  });

  test('never takes more than it may, and is whole where it fits', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' }),
        fc.integer({ min: 160, max: 3_000 }),
        (text, most) => {
          const cut = cutMiddle(text, most);
          expect(bytes(cut)).toBeLessThanOrEqual(most);
          if (bytes(text) <= most) expect(cut).toBe(text);
          expect(cut.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});
