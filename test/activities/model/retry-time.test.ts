import { expect, test } from 'vitest';
import { ModelError, toFailure } from '../../../activities/model/model-error.ts';
import { RetryTime } from '../../../activities/model/retry-time.ts';

const passing = (retryAfterMs?: number) =>
  new ModelError('model_unreachable', 'it answered 503', { retryable: true, retryAfterMs });

test('a call is tried again until its time is over, however long each attempt takes', () => {
  const time = new RetryTime();
  const at = (minutes: number) =>
    time.check('one', passing(), minutes * 60_000, 600_000, minutes * 60_000 + 50_000);
  expect(at(0).retryable).toBe(true);
  expect(at(5).retryable).toBe(true);
  const last = at(10);
  expect(last).toMatchObject({ code: 'model_unreachable', retryable: false });
  expect(last.hint).toContain('10m 50s');
});

test('a call that has passed in between has all its time again, and so has another call', () => {
  const time = new RetryTime();
  time.check('one', passing(), 0, 1_000, 10);
  expect(time.check('two', passing(), 2_000, 1_000, 2_010).retryable).toBe(true);
  time.forget('one');
  expect(time.check('one', passing(), 2_000, 1_000, 2_010).retryable).toBe(true);
});

test('a provider that wants to be left alone for longer than there is time is not waited for', () => {
  const error = new RetryTime().check('one', passing(7_200_000), 0, 600_000, 10);
  expect(error).toMatchObject({ code: 'model_unreachable', retryable: false });
  expect(error.hint).toMatch(/2h 0m.*model_retry_ms/);
});

test('what cannot pass stays as it is', () => {
  const error = new ModelError('model_refused', 'no');
  expect(new RetryTime().check('one', error, 0, 0, 10)).toBe(error);
});

test('a short retry-after does not use up the attempts before the time', () => {
  expect(toFailure(passing(20), 4)).toMatchObject({ nextRetryDelay: 8_000 });
  expect(toFailure(passing(20_000), 4)).toMatchObject({ nextRetryDelay: 20_000 });
  expect(toFailure(passing(20), 500)).toMatchObject({ nextRetryDelay: 30_000 });
});

test('an agent is told what to do, too', () => {
  const error = new ModelError('model_refused', 'it answered 401', { hint: 'Set MY_KEY.' });
  expect(toFailure(error, 1)).toMatchObject({ message: 'it answered 401. Set MY_KEY.', nonRetryable: true });
});
