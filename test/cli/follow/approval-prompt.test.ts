import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApprovalPrompt } from '../../../cli/follow/approval-prompt.ts';
import { TerminalInput } from '../../../cli/follow/terminal-input.ts';
import { type AgentId, type Approval, type ApprovalRule, CadreError } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';
import { FakeKeys, FakeScreen, outputOn } from './terminal.ts';

const ROOT = 'a0k3v9x2m4qd7' as AgentId;
const WAITING = [agentView(ROOT), agentView(`${ROOT}/worker-1`, { waiting_for: 'approval' })];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function approval(number: number): Approval {
  return {
    approval_id: `${ROOT}/worker-1#p${number}`,
    asking_id: `${ROOT}/worker-1` as AgentId,
    role: 'worker',
    call_id: 'c',
    tool: 'shell',
    kind: 'command',
    summary: `rm -r build${number} \u001b[2J`,
    reason: 'it is not known to be harmless',
    key: `k${number}`,
    requested_at: '2026-01-01T00:00:00Z',
  };
}

function prompt() {
  const keys = new FakeKeys();
  const screen = new FakeScreen();
  const drawn: string[] = [];
  const decided: string[] = [];
  const saved: ApprovalRule[] = [];
  const session = { pending: [approval(1)], asked: 0, fail: undefined as Error | undefined };
  const asking = new ApprovalPrompt({
    output: outputOn(screen),
    input: new TerminalInput(keys, screen, false),
    screen: { pause: () => drawn.push('pause'), resume: () => drawn.push('resume') },
    pending: async () => {
      session.asked++;
      return session.pending;
    },
    decide: async (id, decision) => {
      decided.push(`${id} ${decision}`);
      if (session.fail !== undefined) throw session.fail;
    },
    save: async (rule) => {
      saved.push(rule);
      return '/state/rules.json';
    },
  });
  const press = (key: string): void => {
    vi.advanceTimersByTime(1_000);
    keys.press(key);
  };
  return { asking, keys, screen, drawn, decided, saved, session, press };
}

test('nobody is asked as long as nobody waits', async () => {
  const { asking, session, screen } = prompt();
  await asking.look([agentView(ROOT)]);
  expect({ asked: session.asked, written: screen.written }).toEqual({ asked: 0, written: '' });
});

test('a question says who asks, what and why, and nothing in it moves the cursor; the tree pauses meanwhile', async () => {
  const { asking, screen, drawn, keys } = prompt();
  await asking.look(WAITING);
  expect(screen.written).toContain('worker-1 (worker, shell) asks to: rm -r build1');
  expect(screen.written).toContain('why: it is not known to be harmless');
  expect(screen.written).not.toContain('\u001b');
  expect({ drawn, raw: keys.raw }).toEqual({ drawn: ['pause'], raw: true });
});

test.each([
  ['y', 'approve', 'approved once'],
  ['s', 'approve_for_session', 'approved for the session'],
  ['n', 'deny', 'denied'],
  ['a', 'abort', 'denied, and its turn is stopped'],
  ['Y', 'approve', 'approved once'],
])('%s is %s, and is told with what it is about', async (key, decision, said) => {
  const { asking, decided, press, drawn, keys, screen } = prompt();
  await asking.look(WAITING);
  press('x');
  press('\r');
  expect(decided).toEqual([]);
  press(key);
  expect(decided).toEqual([`${ROOT}/worker-1#p1 ${decision}`]);
  expect({ drawn, raw: keys.raw }).toEqual({ drawn: ['pause', 'resume'], raw: false });
  expect(screen.written).toMatch(new RegExp(`${said}: rm -r build1 +\\(worker-1, shell\\)`));
});

test('what was typed before the question could be read answers nothing', async () => {
  const { asking, decided, keys } = prompt();
  await asking.look(WAITING);
  keys.press('y');
  vi.advanceTimersByTime(200);
  keys.press('y');
  expect(decided).toEqual([]);
});

test('several questions come one after the other, each once', async () => {
  const { asking, session, decided, press } = prompt();
  session.pending = [approval(1), approval(2)];
  await asking.look(WAITING);
  await asking.look(WAITING);
  press('y');
  await asking.look(WAITING);
  press('n');
  await asking.look(WAITING);
  press('y');
  expect(decided).toEqual([`${ROOT}/worker-1#p1 approve`, `${ROOT}/worker-1#p2 deny`]);
});

test('a question that was answered elsewhere is taken back', async () => {
  const { asking, session, decided, press, screen, drawn } = prompt();
  await asking.look(WAITING);
  session.pending = [];
  await asking.look([agentView(ROOT)]);
  press('y');
  expect({ decided, drawn }).toEqual({ decided: [], drawn: ['pause', 'resume'] });
  expect(screen.written).toContain('answered elsewhere');
});

test('an answer that does not arrive is asked for again; one that comes too late is not', async () => {
  const { asking, session, decided, press, screen } = prompt();
  session.fail = new CadreError('no_worker', 'nobody there');
  await asking.look(WAITING);
  press('y');
  await vi.advanceTimersByTimeAsync(0);
  expect(screen.written).toContain('nobody there');
  session.fail = new CadreError('approval_not_found', 'gone');
  await asking.look(WAITING);
  press('n');
  await vi.advanceTimersByTimeAsync(0);
  await asking.look(WAITING);
  press('y');
  expect(decided).toHaveLength(2);
});

test.each([
  ['ended', 'answered elsewhere, or taken back'],
  ['left', `still open: cadre approve|deny ${ROOT}/worker-1#p1`],
] as const)(
  'when the session is %s, an open question says what became of it, and the keys are free',
  async (end, said) => {
    const { asking, keys, decided, press, screen } = prompt();
    await asking.look(WAITING);
    asking.end(end);
    asking.end('left');
    expect(keys.raw).toBe(false);
    expect(screen.written.match(/answered elsewhere.*|still open.*/g)).toEqual([said]);
    await asking.look(WAITING);
    press('y');
    expect(decided).toEqual([]);
  },
);

test('r allows it for the session and saves a rule, where there can be one, and says what was written', async () => {
  const { asking, session, decided, saved, press, screen } = prompt();
  const rule: ApprovalRule = { command: 'rm -r build1', folder: '/work', sandbox_mode: 'workspace-write' };
  session.pending = [{ ...approval(1), rule }];
  await asking.look(WAITING);
  expect(screen.written).toContain('r always, by a rule');
  press('r');
  await vi.waitFor(() => expect(saved).toEqual([rule]));
  expect(decided).toEqual([`${ROOT}/worker-1#p1 approve_for_session`]);
  expect(screen.written).toMatch(
    /saved for later sessions: rm -r build1 in \/work.*inside its sandbox.*rules\.json/,
  );
});

test('where no rule can say it, r is no answer', async () => {
  const { asking, decided, saved, press, screen } = prompt();
  await asking.look(WAITING);
  press('r');
  expect({ decided, saved }).toEqual({ decided: [], saved: [] });
  expect(screen.written).not.toContain('always');
  press('y');
  expect(decided).toHaveLength(1);
});

test('a rule of an answer that did not arrive is not saved', async () => {
  const { asking, session, saved, press, screen } = prompt();
  session.pending = [{ ...approval(1), rule: { command: 'make' } }];
  session.fail = new Error('no way there');
  await asking.look(WAITING);
  press('r');
  await vi.waitFor(() => expect(screen.written).toContain('did not arrive'));
  expect(saved).toEqual([]);
});
