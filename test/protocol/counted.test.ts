import { expect, test } from 'vitest';
import { counted } from '../../protocol/index.ts';

test.each([
  [0, '0 turns'],
  [1, '1 turn'],
  [2, '2 turns'],
])('%i is told as %s', (count, text) => {
  expect(counted(count, 'turn')).toBe(text);
});

test('a plural of another form is given', () => {
  expect([1, 2].map((count) => counted(count, 'match', 'matches'))).toEqual(['1 match', '2 matches']);
});
