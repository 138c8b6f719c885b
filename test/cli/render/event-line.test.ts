import { expect, test } from 'vitest';
import { eventLine } from '../../../cli/render/event-line.ts';
import type { AgentEvent, AgentId, ApprovalShown, EventBody } from '../../../protocol/index.ts';

const ROOT = 'a0k3v9x2m4qd7' as AgentId;
const CHILD = `${ROOT}/worker-1` as AgentId;

const question = (asking_id: AgentId): ApprovalShown => ({
  approval_id: `${asking_id}#p1`,
  asking_id,
  role: 'worker',
  kind: 'command',
  tool: 'shell',
  summary: 'rm -r build',
});
const event = (body: EventBody, agent: AgentId = CHILD): AgentEvent =>
  ({ seq: 1, at: '2026-01-01T00:00:00Z', agent_id: agent, session_id: ROOT, ...body }) as AgentEvent;

test.each<[EventBody, string]>([
  [{ type: 'session.started', source: 'cli', model: 'm', provider: 'p' }, 'worker-1: started (m)'],
  [{ type: 'tool.begin', call_id: 'c', name: 'shell', summary: 'npm test' }, 'worker-1: shell · npm test'],
  [{ type: 'tool.begin', call_id: 'c', name: 'wait', summary: '' }, 'worker-1: wait'],
  [
    { type: 'tool.end', call_id: 'c', name: 'shell', success: false, duration_ms: 1, output: 'exit 1' },
    'worker-1: shell failed: exit 1',
  ],
  [
    {
      type: 'tool.end',
      call_id: 'c',
      name: 'read_file',
      success: false,
      duration_ms: 1,
      output: '{"error":{"code":"tool_failed","message":"README does not exist."}}',
    },
    'worker-1: read_file: README does not exist.',
  ],
  [
    { type: 'agent.status', receiver_id: CHILD, status: 'errored', is_final: true, text: 'why' },
    'worker-1: errored: why',
  ],
  [
    { type: 'input.rejected', signal: 'send_input', reason: 'no message' },
    'worker-1: send_input was rejected: no message',
  ],
  [
    { type: 'approval.requested', ...question(CHILD) },
    `worker-1: asks to: rm -r build (cadre approve ${CHILD}#p1, or deny)`,
  ],
  [
    { type: 'approval.decided', ...question(CHILD), decision: 'approve_for_session', scope: 'session' },
    `worker-1: approved for the session: rm -r build (worker-1, shell) (${CHILD}#p1)`,
  ],
  [{ type: 'warning', text: 'careful' }, 'worker-1: warning: careful'],
])('%j is told', (body, line) => {
  expect(eventLine(event(body))).toBe(line);
});

test.each<EventBody>([
  { type: 'tool.end', call_id: 'c', name: 'shell', success: true, duration_ms: 1, output: 'fine' },
  {
    type: 'agent.status',
    receiver_id: `${CHILD}/worker-1` as AgentId,
    status: 'completed',
    is_final: true,
    text: 'x',
  },
  { type: 'agent.status', receiver_id: CHILD, status: 'running', is_final: false, text: '' },
  { type: 'turn.started', turn: 1 },
  // The root's stream repeats the questions of all agents.
  { type: 'approval.requested', ...question(`${ROOT}/b-1` as AgentId) },
  { type: 'approval.decided', ...question(`${ROOT}/b-1` as AgentId), decision: 'deny' },
])('%j tells a person nothing new', (body) => {
  expect(eventLine(event(body))).toBeUndefined();
});

test('what a model or a command wrote stays one harmless line', () => {
  const output = `one\ntwo\u001b[2J${'x'.repeat(5_000)}`;
  const line = eventLine(
    event({ type: 'tool.end', call_id: 'c', name: 'shell', success: false, duration_ms: 1, output }),
  );
  expect(line).not.toMatch(/\p{Cc}/u);
  expect(line?.length).toBeLessThan(300);
});
