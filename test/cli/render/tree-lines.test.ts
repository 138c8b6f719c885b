import pc from 'picocolors';
import { expect, test } from 'vitest';
import { treeLines } from '../../../cli/render/tree-lines.ts';
import { agentView } from '../agent-view.ts';

const NOW = Date.parse('2026-01-01T00:01:12Z');
const colors = pc.createColors(false);
const lines = (agents: Parameters<typeof treeLines>[0], width = 200) =>
  treeLines(agents, { colors, now: NOW, width });

const root = agentView('a0k3v9x2m4qd7', { status: 'running', waiting_for: 'agents' });
const child = (name: string, more = {}) => agentView(`a0k3v9x2m4qd7/${name}`, more);

test('children stand below their parents, with branches that lead to them', () => {
  const agents = [root, child('explorer-1'), child('worker-1'), child('explorer-1/worker-1')];
  expect(lines(agents).map((line) => line.slice(0, line.indexOf('  default')).trimEnd())).toEqual([
    'a0k3v9x2m4qd7',
    '├─ explorer-1',
    '│  └─ worker-1',
    '└─ worker-1',
  ]);
});

test('a line tells role, status, what is done, for how long, and tokens', () => {
  const usage = { ...root.usage, total_tokens: 3_200 };
  const busy = child('explorer-1', {
    role: 'explorer',
    status: 'running',
    current_tool: 'shell · npm test',
    usage,
  });
  const line = lines([root, busy])[1];
  for (const part of ['explorer', 'running', '1m 12s', '3.2k tok', 'shell · npm test'])
    expect(line).toContain(part);
});

test.each([
  [{ status: 'pending_init', is_final: false, queued: true }, 'pending_init (queued)'],
  [{ status: 'running', is_final: false, waiting_for: 'model' }, 'waiting for model'],
  [
    { status: 'running', is_final: false, waiting_for: 'approval', current_tool: 'shell · rm' },
    'waiting for approval (cadre approvals)',
  ],
  [{ status: 'completed', is_final: true, closed: true, message: 'all done' }, 'completed (closed)'],
  [{ status: 'shutdown', is_final: true, closed: true }, 'shutdown'],
  [{ status: 'errored', is_final: true, message: 'it broke' }, 'it broke'],
] as const)('%j shows %s', (view, text) => {
  expect(lines([child('x-1', view)])[0]).toContain(text);
});

test('what a model wrote can neither break the line nor reach the terminal', () => {
  const view = child('x-1', { status: 'errored', is_final: true, message: 'one\n\u001b[2Jtwo' });
  expect(lines([view])).toHaveLength(1);
  expect(lines([view])[0]).not.toMatch(/\p{Cc}/u);
});

test('no line is longer than the terminal is wide', () => {
  const deep = child('explorer-1/a-rather-long-name-of-an-agent-1/and-another-one-that-is-long-too-1');
  const agents = [
    root,
    child('explorer-1', { current_tool: 'x'.repeat(500) }),
    { ...deep, message: '長'.repeat(99) },
  ];
  for (const line of lines(agents, 60)) expect(line.length).toBeLessThanOrEqual(60);
});

test('an agent whose parent is not shown stands at the top', () => {
  expect(lines([child('explorer-1')])[0]).toMatch(/^explorer-1/);
});
