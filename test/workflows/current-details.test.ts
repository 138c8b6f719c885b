import { expect, test } from 'vitest';
import { type Approval, noUsage } from '../../protocol/index.ts';
import { currentDetails } from '../../workflows/current-details.ts';
import { agentId, viewOf } from './agent-views.ts';

test('the details show the task, role, model, status, children, plan and last message', () => {
  const view = viewOf(agentId('worker-1'), {
    task: 'Look at\n  the tests',
    persona: 'careful',
    status: 'running',
    waiting_for: 'tool',
    current_tool: 'shell · npm test',
    reasoning_effort: 'high',
    note: 'main\nline',
    children: [agentId('worker-1/explorer-1')],
    usage: { ...noUsage, input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    message: 'Half done.',
    turn: 2,
    step: 3,
    updated_at: '2026-01-01T12:01:12.000Z',
  });
  const plan = [
    { step: 'read', status: 'completed' },
    { step: 'run', status: 'in_progress' },
    { step: 'tell', status: 'pending' },
  ] as const;
  expect(currentDetails(view, plan)).toBe(`**Task** Look at the tests

- **Role** worker / careful, depth 1, started by api
- **Model** scripted (high)
- **Status** running, waiting for tool (shell · npm test), since 2026-01-01T12:00:00.000Z
- **Turn** 2, step 3, 1m 12s in this status
- **Tokens** 15 (in 10, out 5)
- **Note** main line
- **Children** \`a0k3v9x2m4qd7/worker-1/explorer-1\`

**Plan**
- [x] read
- [~] run
- [ ] tell

**Last message**

Half done.`);
});

test('the details leave out what there is not, and say when an agent is closed', () => {
  const text = currentDetails(viewOf(agentId(''), { status: 'completed', closed: true }), []);
  expect(text).toContain('- **Status** completed, closed, since');
  for (const absent of ['Note', 'Children', 'Plan', 'Last message']) expect(text).not.toContain(absent);
});

test('the details stay small, however long the message', () => {
  const text = currentDetails(viewOf(agentId(''), { message: 'x'.repeat(100_000) }), []);
  expect(text.length).toBeLessThan(1_500);
  expect(text.endsWith('x…')).toBe(true);
});

test('questions for a person are shown with the command that answers them, and not without end', () => {
  const approval = (index: number): Approval => ({
    approval_id: `${agentId('worker-1')}#p${index}`,
    asking_id: agentId('worker-1'),
    role: 'worker',
    call_id: 'c1',
    requested_at: '2026-01-01T12:00:00.000Z',
    kind: 'command',
    summary: 'rm -r\n  build',
    reason: 'nothing contains it',
    key: 'rm',
  });
  const text = currentDetails(
    viewOf(agentId('worker-1')),
    [],
    Array.from({ length: 12 }, (_, n) => approval(n)),
  );
  expect(text).toContain(
    '- rm -r build (a0k3v9x2m4qd7/worker-1; nothing contains it): `cadre approve a0k3v9x2m4qd7/worker-1#p0`',
  );
  expect(text).toContain('- … 12 in all');
  expect(text).not.toContain('#p10');
});
