import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutOutput, isTooLong } from '../../../activities/handles/cut-output.ts';
import { bytesWithin, estimateTokens } from '../../../protocol/output-size.ts';

const stored = { handle: 'h_0123' };

test('a text within the limit stays as it is', () => {
  expect(cutOutput('short', 100, stored)).toBe('short');
});

test('a long text keeps its beginning and end, and the cut names the handle and the amount', () => {
  const lines = Array.from({ length: 1_000 }, (_, i) => `line ${i}`).join('\n');
  const cut = cutOutput(lines, 200, stored);
  expect(cut.startsWith('line 0\nline 1\n')).toBe(true);
  expect(cut.endsWith('\nline 998\nline 999')).toBe(true);
  const left =
    /\[… about (\d+) tokens \((\d+) bytes\) left out; stored as h_0123 \(handle_read reads it\) …\]/.exec(
      cut,
    );
  expect(left).not.toBeNull();
  const kept = cut.replace(/\n\[….*…\]\n/, '');
  expect(Number(left?.[2])).toBe(Buffer.byteLength(lines) - Buffer.byteLength(kept));
});

test('a text that could not be stored says why', () => {
  expect(cutOutput('x'.repeat(5_000), 100, { problem: 'disk full' })).toContain(
    'left out; not stored: disk full …]',
  );
});

test('a cut never splits a character and stays near the limit', () => {
  fc.assert(
    fc.property(
      fc
        .string({ unit: 'grapheme', minLength: 100, maxLength: 3_000 })
        // The sign of a split character may stand in a text by itself.
        .filter((text) => !text.includes('\ufffd')),
      fc.integer({ min: 1, max: 300 }),
      (text, limit) => {
        const cut = cutOutput(text, limit, stored);
        expect(cut).not.toContain('\ufffd');
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytesWithin(limit) + 150);
        if (!isTooLong(text, limit)) expect(cut).toBe(text);
      },
    ),
  );
});

test('however high the limit, an output fits into one payload', () => {
  const cut = cutOutput('x'.repeat(3_000_000), 1_000_000, stored);
  expect(Buffer.byteLength(cut)).toBeLessThan(300_000);
  expect(estimateTokens(4)).toBe(1);
});
