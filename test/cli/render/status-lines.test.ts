import { expect, test } from 'vitest';
import { statusLines } from '../../../cli/render/status-lines.ts';
import { type AgentView, type Approval, noUsage } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';

const ROOT = 'a0k3v9x2m4qd7';
const NOW = Date.parse('2026-01-01T00:01:05.000Z');

/** The line that begins with that word. */
function lineOf(name: string, id: string, change: Partial<AgentView>, approvals: Approval[] = []) {
  const lines = statusLines(agentView(id, change), { approvals, link: undefined, now: NOW });
  return lines.find((line) => line.startsWith(`${name} `))?.replace(/^\w+ +/, '');
}

test.each<[Partial<AgentView>, string]>([
  [{ waiting_for: 'model' }, 'running since 2026-01-01T00:00:00.000Z (1m 5s), waiting for model'],
  [{ status: 'completed', closed: true }, 'completed since 2026-01-01T00:00:00.000Z (1m 5s), closed'],
  [
    { status: 'pending_init', queued: true, waiting_for: 'slot' },
    'pending_init since 2026-01-01T00:00:00.000Z (1m 5s), queued, waiting for slot',
  ],
])('%j: since when it has its status, and what it does besides', (change, line) => {
  expect(lineOf('status', ROOT, change)).toBe(line);
});

test('tokens are its own; what bounds them counts more', () => {
  const usage = { ...noUsage, total_tokens: 12_800 };
  expect(lineOf('tokens', ROOT, { usage })).toBe('12,800');
  expect(lineOf('tokens', ROOT, { usage, max_tokens: 1_000_000 })).toBe(
    '12,800 (at most 1,000,000 for the whole session)',
  );
  expect(lineOf('tokens', `${ROOT}/worker-1`, { usage, max_tokens: 12_000 })).toBe(
    '12,800 (at most 12,000 with all agents below it)',
  );
});

test('effort and persona stand beside model and role', () => {
  expect(lineOf('model', ROOT, { model: 'gpt', reasoning_effort: 'high' })).toBe('gpt, effort high');
  expect(lineOf('role', ROOT, { role: 'worker', persona: 'quick' })).toBe('worker / quick');
});

test('a question says how it is answered, and the last message stands at the end, whole', () => {
  const approval = { approval_id: `${ROOT}#p1`, summary: 'rm -r build\u0007' } as Approval;
  expect(lineOf('approval', ROOT, {}, [approval])).toBe(`rm -r build  (cadre approve ${ROOT}#p1, or deny)`);
  const lines = statusLines(agentView(ROOT, { message: 'one\ntwo' }), {
    approvals: [],
    link: 'http://web',
    now: NOW,
  });
  expect(lines.slice(-3)).toEqual([expect.stringMatching(/^web +http:\/\/web$/), '', 'one\ntwo']);
});
