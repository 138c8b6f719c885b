import fc from 'fast-check';
import { expect, test } from 'vitest';
import { INTERNAL_SIGNAL } from '../../protocol/index.ts';
import { takeTogether } from '../../workflows/outbox.ts';

const mail = (payload: string) => ({ signal: INTERNAL_SIGNAL, payload });
const input = (payload: string) => ({ signal: 'send_input', payload });

test('mails that wait go together, another signal goes alone', () => {
  const queue = [mail('a'), mail('b'), input('c'), mail('d')];
  expect(takeTogether(queue)).toEqual([mail('a'), mail('b')]);
  expect(takeTogether(queue)).toEqual([input('c')]);
  expect(takeTogether(queue)).toEqual([mail('d')]);
  expect(queue).toEqual([]);
});

test('for any mails, one signal holds no more than fits, and none is lost or passes another', () => {
  const letter = fc.oneof(
    fc.integer({ min: 0, max: 700_000 }).map((size) => mail('x'.repeat(size))),
    fc.constant(input('y')),
  );
  fc.assert(
    fc.property(fc.array(letter, { minLength: 1, maxLength: 20 }), (letters) => {
      const queue = [...letters];
      const sent: typeof letters = [];
      while (queue.length > 0) {
        const together = takeTogether(queue);
        expect(
          together.length === 1 || JSON.stringify(together.map(({ payload }) => payload)).length < 501_000,
        ).toBe(true);
        sent.push(...together);
      }
      expect(sent).toEqual(letters);
    }),
    { numRuns: 30 },
  );
});
