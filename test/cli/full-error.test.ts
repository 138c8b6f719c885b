import { expect, test } from 'vitest';
import { fullError } from '../../cli/full-error.ts';
import { ERROR_CODES, type ErrorCode } from '../../protocol/errors.ts';

test.each(ERROR_CODES.map((code) => [code]))('%s never goes without advice', (code) => {
  for (const hint of [undefined, '', ' ']) {
    const error = fullError({ code, message: 'no', ...(hint === undefined ? {} : { hint }) });
    expect(error.hint).toMatch(/\S{2}/);
    expect(typeof error.retryable).toBe('boolean');
  }
});

test('what an error says itself stays, also what belongs to it alone', () => {
  const said = {
    code: 'limit_threads',
    message: 'full',
    hint: 'wait',
    retryable: false,
    holders: ['a'],
  } as const;
  expect(fullError(said)).toEqual(said);
});

test.each([
  ['no_worker', true],
  ['limit_threads', true],
  ['models_updating', true],
  ['limit_depth', false],
  ['unknown_role', false],
] as const)('%s may pass by itself: %s', (code, retryable) => {
  expect(fullError({ code, message: 'no' }).retryable).toBe(retryable);
});

test('a code of a newer version has advice, too', () => {
  expect(fullError({ code: 'from the future' as ErrorCode, message: 'no' }).hint).toContain('--verbose');
});
