import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endOfLife, isNews, lifeOf, nextLife } from '../../protocol/lives.ts';

const said = (seq: number, closed = false) => ({ seq, view: { closed } });
const seqs = fc.integer({ min: 0, max: 5_000_000 });

test('what one life reports is no news in the next one, and none of the next is missed', () => {
  fc.assert(
    fc.property(seqs, fc.integer({ min: 1, max: 999_998 }), fc.boolean(), (seq, later, closed) => {
      const next = nextLife(seq) + later;
      expect(lifeOf(next)).toBe(lifeOf(seq) + 1);
      expect(isNews(said(seq, closed), next)).toBe(false);
      expect(isNews(said(next, closed), seq)).toBe(true);
      expect(isNews(said(next, closed), endOfLife(seq))).toBe(true);
    }),
  );
});

test('whoever is taken for lost is heard no more in that life, but for having closed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 999_998 }), (life, count) => {
      const seq = life * 1_000_000 + count;
      const lost = endOfLife(seq);
      expect(isNews(said(seq), lost)).toBe(false);
      expect(isNews(said(seq, true), lost)).toBe(true);
      // What others were told of its loss.
      expect(isNews(said(lost, true), lost)).toBe(false);
      expect(isNews(said(seq - 1_000_000, true), lost)).toBe(false);
    }),
  );
});

test('within a life what is newer is news, once', () => {
  expect(isNews(said(2), 1)).toBe(true);
  expect(isNews(said(2, true), 2)).toBe(false);
  expect(isNews(said(1, true), 2)).toBe(false);
});
