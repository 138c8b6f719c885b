import { expect, test } from 'vitest';
import { configSchema } from '../../../cli/config/schema.ts';
import { methodOf, Notifier, wantsNotifications } from '../../../cli/follow/notifications.ts';
import type { AgentEvent, AgentId, EventBody } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';
import { FakeScreen } from './terminal.ts';

const ROOT = 'a0k3v9x2m4qd7' as AgentId;
const CHILD = `${ROOT}/worker-1` as AgentId;
const BEL = '\u0007';

const event = (agent_id: AgentId, body: EventBody): AgentEvent =>
  ({ seq: 1, at: '2026-01-01T00:00:00Z', agent_id, session_id: ROOT, ...body }) as AgentEvent;
const ended = (id: AgentId, status: 'completed' | 'errored' | 'shutdown' | 'running', text = 'all is well') =>
  event(id, {
    type: 'agent.status',
    receiver_id: id,
    status,
    is_final: status !== 'running',
    text,
  });

function notifier(config: object = {}, environment: Record<string, string> = {}) {
  const screen = new FakeScreen();
  const focus = { isFocused: false };
  const { notifications } = configSchema.parse({ notifications: { when: 'unfocused', ...config } });
  const take = new Notifier({ config: notifications, environment, screen, isFocused: () => focus.isFocused });
  const view = agentView(CHILD, { role: 'worker' });
  return { take: (each: AgentEvent) => take.take(each, view), notifier: take, screen, focus };
}

test('the end of a sub-agent’s turn rings, in a terminal that shows texts with the announcement', () => {
  const { take, screen } = notifier({ method: 'osc9' });
  take(event(CHILD, { type: 'turn.completed', turn: 1, message: 'x', duration_ms: 72_000 }));
  take(ended(CHILD, 'completed', 'all is\u0007 well\u001b]0;x\u0007'));
  expect(screen.written).toBe(`\u001b]9;agent worker (${CHILD}) completed in 1m 12s: all is well${BEL}`);
});

test('an error rings as well; a start, a closing, the root and what is told of others do not', () => {
  const { take, notifier: whole, screen } = notifier({ method: 'bel' });
  take(ended(CHILD, 'running'));
  take(ended(CHILD, 'shutdown'));
  whole.take(ended(ROOT, 'completed'), agentView(ROOT));
  // The root’s own stream tells of its children, too.
  whole.take({ ...ended(CHILD, 'completed'), agent_id: ROOT }, agentView(ROOT));
  expect(screen.written).toBe('');
  take(ended(CHILD, 'errored'));
  expect(screen.written).toBe(BEL);
});

test('not while the terminal has the focus, unless that is wanted', () => {
  const quiet = notifier({ method: 'bel' });
  quiet.focus.isFocused = true;
  quiet.take(ended(CHILD, 'completed'));
  expect(quiet.screen.written).toBe('');
  const loud = notifier({ method: 'bel', when: 'always' });
  loud.focus.isFocused = true;
  loud.take(ended(CHILD, 'completed'));
  expect(loud.screen.written).toBe(BEL);
});

test.each([
  [{}, false],
  [{ types: ['sub-agent-complete'] }, false],
  [{ when: 'unfocused' }, true],
  [{ when: 'always' }, true],
  [{ when: 'always', types: ['other', 'sub-agent-complete'] }, true],
  [{ when: 'always', types: ['other'] }, false],
  [{ when: 'always', types: [] }, false],
])('with %j sub-agents are told of: %s', (config, wanted) => {
  const { notifications } = configSchema.parse({ notifications: config });
  expect(wantsNotifications(notifications)).toBe(wanted);
});

test.each([
  [{ TERM_PROGRAM: 'iTerm.app' }, 'osc9'],
  [{ TERM_PROGRAM: 'WezTerm' }, 'osc9'],
  [{ TERM_PROGRAM: 'ghostty' }, 'osc9'],
  [{ TERM: 'xterm-kitty' }, 'osc9'],
  [{ KITTY_WINDOW_ID: '1' }, 'osc9'],
  [{ WT_SESSION: 'x' }, 'osc9'],
  [{ TERM_PROGRAM: 'Apple_Terminal' }, 'bel'],
  [{ TERM: 'xterm-256color' }, 'bel'],
  [{ TERM_PROGRAM: 'iTerm.app', TMUX: '/tmp/tmux' }, 'bel'],
  [{}, 'bel'],
] as const)('in a terminal with %j it is %s', (environment, method) => {
  expect(methodOf(environment)).toBe(method);
  const { take, screen } = notifier({}, { ...environment });
  take(ended(CHILD, 'completed'));
  expect(screen.written.startsWith('\u001b]9;')).toBe(method === 'osc9');
});
