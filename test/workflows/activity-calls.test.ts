import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attemptsWithin, problemOf } from '../../workflows/activity-calls.ts';

describe('the attempts that fit into a time', () => {
  test.each([
    [0, 1],
    [999, 1],
    [1_000, 2],
    [2_999, 2],
    [3_000, 3],
    [31_000, 6],
    [60_999, 6],
    [61_000, 7],
    [600_000, 24],
  ])('of %i ms are %i', (ms, attempts) => {
    expect(attemptsWithin(ms)).toBe(attempts);
  });

  test('never wait longer than the time, and one more would', () => {
    const waits = (attempts: number) =>
      Array.from({ length: attempts - 1 }, (_, index) => Math.min(1_000 * 2 ** index, 30_000));
    const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (ms) => {
        const attempts = attemptsWithin(ms);
        expect(sum(waits(attempts))).toBeLessThanOrEqual(ms);
        expect(sum(waits(attempts + 1))).toBeGreaterThan(ms);
      }),
    );
  });
});

describe('why an activity failed', () => {
  const failed = (cause: Error) =>
    new ActivityFailure(
      'Activity task failed',
      'shell',
      '1',
      RetryState.MAXIMUM_ATTEMPTS_REACHED,
      undefined,
      cause,
    );

  test('is a cancellation where it was cancelled', () => {
    expect(problemOf(failed(new CancelledFailure('cancelled')))).toEqual({ kind: 'cancelled' });
    expect(problemOf(new CancelledFailure('cancelled'))).toEqual({ kind: 'cancelled' });
  });

  test('is unknown where the worker was silent or too slow', () => {
    const timeout = new TimeoutFailure('activity Heartbeat timeout', undefined, TimeoutType.HEARTBEAT);
    expect(problemOf(failed(timeout))).toEqual({
      kind: 'lost',
      message: 'its worker was lost, or cut off from the server',
    });
  });

  test('is unknown where its worker shut down', () => {
    const cut = ApplicationFailure.retryable('Worker is shutting down …', 'WorkerShutdown');
    expect(problemOf(failed(cut))).toEqual({ kind: 'lost', message: 'its worker was shut down' });
  });

  test('is what the activity says, with the code as its type', () => {
    const refused = ApplicationFailure.nonRetryable('401: no such key', 'model_refused');
    expect(problemOf(failed(refused))).toEqual({
      kind: 'failed',
      code: 'model_refused',
      message: '401: no such key',
    });
  });

  test('is internal where nothing better is known', () => {
    const untyped = ApplicationFailure.retryable('odd');
    expect(problemOf(failed(untyped))).toMatchObject({ kind: 'failed', code: 'internal' });
    expect(problemOf(new Error('odd'))).toEqual({ kind: 'failed', code: 'internal', message: 'odd' });
    expect(problemOf('odd')).toEqual({ kind: 'failed', code: 'internal', message: 'odd' });
  });
});
