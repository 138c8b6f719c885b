import { expect, test } from 'vitest';
import { retryLine } from '../../../cli/render/retry-line.ts';
import { agentView } from '../agent-view.ts';

test('a call that is tried again says how often it has failed, why, and when', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const view = agentView('a0k3v9x2m4qd7/worker-1');
  const retry = { activity: 'model', attempt: 4, reason: '503: overloaded', next_at: '2026-01-01T00:00:08Z' };
  expect(retryLine(view, retry, now)).toBe(
    'worker-1: the model call has failed (3 times): 503: overloaded; it is tried again in 8s',
  );
  expect(retryLine(view, { activity: 'read_file', attempt: 2, reason: 'busy' }, now)).toBe(
    'worker-1: read_file has failed (1 time): busy; it is being tried again',
  );
});
