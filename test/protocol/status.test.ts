import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAnnouncement, formatDuration, isFinal, STATUSES, wireStatus } from '../../protocol/index.ts';

describe('a status', () => {
  test('is final unless the agent waits for its first turn or runs', () => {
    const open = STATUSES.filter((status) => !isFinal(status));
    expect(open).toEqual(['pending_init', 'running']);
  });

  test('travels as a bare word where no text belongs to it', () => {
    for (const status of ['pending_init', 'running', 'shutdown', 'not_found'] as const) {
      expect(wireStatus(status, 'ignored')).toBe(status);
    }
  });

  test('carries the text of a turn that ended', () => {
    expect(wireStatus('completed', 'done')).toEqual({ completed: 'done' });
    expect(wireStatus('errored', 'no key')).toEqual({ errored: 'no key' });
    expect(wireStatus('interrupted', 'by a person')).toEqual({ interrupted: 'by a person' });
    expect(wireStatus('completed')).toEqual({ completed: '' });
  });
});

describe('a duration', () => {
  test.each([
    [0, '0s'],
    [-5, '0s'],
    [499, '0s'],
    [500, '1s'],
    [8_000, '8s'],
    [59_499, '59s'],
    [59_500, '1m 0s'],
    [72_000, '1m 12s'],
    [3_599_000, '59m 59s'],
    [3_600_000, '1h 0m'],
    [7_380_000, '2h 3m'],
    [360_000_000, '100h 0m'],
  ])('of %i ms reads %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('never shows sixty of a smaller unit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e10 }), (ms) => {
        const parts = formatDuration(ms).match(/\d+/g) ?? [];
        expect(Number(parts[1] ?? 0)).toBeLessThan(60);
      }),
    );
  });
});

describe('an announcement', () => {
  const about = { role: 'worker', agentId: 'a0k3v9x2m4qd7/worker-1', durationMs: 72_000, message: 'Done.' };

  test('names the role, the agent, the call that spawned it, the status and the time', () => {
    expect(formatAnnouncement({ ...about, callId: 'call_7', status: 'completed' })).toBe(
      'agent worker (a0k3v9x2m4qd7/worker-1) [call_7] completed in 1m 12s: Done.',
    );
  });

  test('has no brackets for an agent that no tool call spawned', () => {
    expect(formatAnnouncement({ ...about, callId: undefined, status: 'errored' })).toBe(
      'agent worker (a0k3v9x2m4qd7/worker-1) errored in 1m 12s: Done.',
    );
  });
});
