import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_DIGEST, extendDigest, type Item, textMessage } from '../../protocol/index.ts';

const digestOf = (items: Item[]) => items.reduce(extendDigest, EMPTY_DIGEST);
const texts = fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 });

test('equal conversations have equal digests', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const one = text.map((part) => textMessage(part));
      const other = JSON.parse(JSON.stringify(one)) as Item[];
      expect(digestOf(other)).toBe(digestOf(one));
    }),
  );
});

test('conversations that differ in any item, their order or their length have different digests', () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other));
      const digest = (parts: string[]) => digestOf(parts.map((part) => textMessage(part)));
      expect(digest(one)).not.toBe(digest(other));
    }),
  );
});

test('a digest is as short whatever it stands for', () => {
  const long = textMessage('x'.repeat(1_000_000));
  expect(extendDigest(EMPTY_DIGEST, textMessage(''))).toMatch(/^[0-9a-f]{32}$/);
  expect(extendDigest(EMPTY_DIGEST, long)).toMatch(/^[0-9a-f]{32}$/);
});

test('each prefix of a conversation has a digest of its own', () => {
  const item = textMessage('again');
  const digests = [1, 2, 3, 4].map((count) => digestOf(Array.from({ length: count }, () => item)));
  expect(new Set(digests).size).toBe(4);
});
