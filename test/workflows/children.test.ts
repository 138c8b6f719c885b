import { describe, expect, test } from 'vitest';
import { nextLife } from '../../protocol/lives.ts';
import { Children } from '../../workflows/children.ts';
import { agentId, reportOf, viewOf } from './agent-views.ts';

const CHILD = agentId('worker-1');
const STRANGER = agentId('explorer-1/worker-1');

const withChild = () => {
  const children = new Children();
  children.add(CHILD, 'worker', 'call_1');
  return children;
};
const carried = (children: Children) => new Children(JSON.parse(JSON.stringify(children.carry)));

describe('the registry of children', () => {
  test('numbers the children of each role and never gives a number twice', () => {
    let children = new Children();
    expect([children.nextNumber('worker'), children.nextNumber('explorer')]).toEqual([1, 1]);
    children.remove(agentId('worker-1'));
    expect(children.nextNumber('worker')).toBe(2);
    children = carried(children);
    expect(children.nextNumber('worker')).toBe(3);
  });

  test('knows a new child as running, or as waiting for its first turn where it is queued', () => {
    const children = withChild();
    children.add(agentId('worker-2'), 'worker', undefined, true);
    expect(children.get(agentId('worker-2'))).toMatchObject({ status: 'pending_init', turn: 0 });
    children.remove(agentId('worker-2'));
    expect(children.get(CHILD)).toMatchObject({
      status: 'running',
      turn: 1,
      closed: false,
      callId: 'call_1',
    });
    expect(children.ids).toEqual([CHILD]);
    expect(children.working.map((known) => known.id)).toEqual([CHILD]);
    expect(children.hasSettled(CHILD)).toBe(false);
  });

  test('learns from reports, and takes no older one for news', () => {
    const children = withChild();
    const done = reportOf(CHILD, 2, { status: 'completed', message: 'done' });
    expect(children.apply(done)?.statusChanged).toBe(true);
    expect(children.apply(reportOf(CHILD, 1, { status: 'running' }))).toBeUndefined();
    expect(children.apply(reportOf(CHILD, 2, { status: 'running' }))).toBeUndefined();
    expect(children.get(CHILD)).toMatchObject({ status: 'completed', message: 'done', turn: 1 });
  });

  test('sees each turn of a child end once, whatever the child does by then', () => {
    const children = withChild();
    const ended = { turn: 1, status: 'errored', message: 'no more', duration_ms: 5 } as const;
    const cut = { turn: 2, status: 'interrupted', duration_ms: 7 } as const;
    const ends = [
      reportOf(CHILD, 1, { status: 'running', turn: 1 }),
      reportOf(CHILD, 2, { status: 'pending_init', turn: 1, ended }),
      reportOf(CHILD, 2, { status: 'pending_init', turn: 1, ended }),
      reportOf(CHILD, 3, { status: 'running', turn: 2, note: 'a new note' }),
      reportOf(CHILD, 4, { status: 'shutdown', turn: 2, closed: true, message: 'enough', ended: cut }),
    ].map((report) => children.apply(report)?.ended);
    expect(ends).toEqual([undefined, ended, undefined, undefined, { ...cut, message: 'enough' }]);
  });

  test('knows a child whose turn has ended as waiting when more input waits for it', () => {
    const children = withChild();
    const ended = { turn: 1, status: 'completed', message: 'done', duration_ms: 5 } as const;
    children.apply(reportOf(CHILD, 1, { status: 'pending_init', ended }));
    expect(children.hasSettled(CHILD)).toBe(false);
    expect(children.working.map((known) => known.id)).toEqual([CHILD]);
  });

  test('takes closing for no end of a turn', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'running' }));
    const change = children.apply(reportOf(CHILD, 2, { status: 'shutdown', closed: true }));
    expect(change).toEqual({ statusChanged: true, known: expect.anything() });
    expect(children.open).toEqual([]);
    expect(children.ids).toEqual([CHILD]);
  });

  test('keeps agents that are only watched apart from children', () => {
    const children = withChild();
    const ended = { turn: 1, status: 'completed', duration_ms: 5 } as const;
    const change = children.apply(reportOf(STRANGER, 1, { status: 'completed', ended }));
    expect(change).toEqual({ statusChanged: true, known: expect.anything() });
    expect(children.get(STRANGER)?.isChild).toBe(false);
    expect(children.ids).toEqual([CHILD]);
    expect(children.open.map((known) => known.id)).toEqual([CHILD]);
    expect(children.hasSettled(STRANGER)).toBe(true);
  });

  test('holds an agent for settled that is not known, closed, or lost', () => {
    const children = withChild();
    expect(children.hasSettled(STRANGER)).toBe(true);
    children.sent(CHILD, 'i1');
    children.lost(CHILD, 'errored', 'terminated');
    expect(children.hasSettled(CHILD)).toBe(true);
    expect(children.get(CHILD)).toMatchObject({ status: 'errored', message: 'terminated', closed: true });
  });

  test('hears nothing of one that is lost until it comes back, unless it has closed in good order', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'running' }));
    children.lost(CHILD, 'errored', 'terminated');
    expect(children.apply(reportOf(CHILD, 2, { status: 'completed' }))).toBeUndefined();
    expect(children.apply(reportOf(CHILD, 3, { status: 'shutdown', closed: true }))).toBeDefined();
    expect(children.get(CHILD)).toMatchObject({ status: 'shutdown', closed: true });
    children.resumed(CHILD, 3, false);
    expect(children.get(CHILD)).toMatchObject({ status: 'interrupted', closed: false });
    expect(children.apply(reportOf(CHILD, 4, { status: 'running' }))).toBeUndefined();
    expect(children.apply(reportOf(CHILD, nextLife(3) + 1, { status: 'completed' }))).toBeDefined();
    expect(children.get(CHILD)).toMatchObject({ status: 'completed', closed: false });
  });

  test('takes back a resume that came to nothing, but not when somebody else was faster', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed', closed: true }));
    const undo = children.resumed(CHILD, 1, false);
    undo();
    expect(children.get(CHILD)).toMatchObject({ closed: true });
    const tooLate = children.resumed(CHILD, 1, false);
    children.apply(reportOf(CHILD, nextLife(1) + 1, { status: 'completed' }));
    tooLate();
    expect(children.get(CHILD)).toMatchObject({ closed: false });
  });

  test('after a resume holds those for closed that were its own, and asks again for all others', () => {
    let children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'running' }));
    children.apply(reportOf(STRANGER, 1, { status: 'running' }));
    expect(children.lastOpen).toEqual([CHILD]);
    children = new Children(JSON.parse(JSON.stringify(children.carry)));
    children.reopen();
    expect(children.get(CHILD)).toMatchObject({ status: 'shutdown', closed: true });
    expect(children.get(STRANGER)).toBeUndefined();
    expect(children.lastOpen).toEqual([]);
    expect(children.apply(reportOf(CHILD, 2, { status: 'completed' }))).toBeUndefined();
    children.resumed(CHILD, 2, false);
    expect(children.get(CHILD)).toMatchObject({ status: 'interrupted', closed: false });
  });

  test('does not change what is known of a closed agent when it is reported lost', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed', message: 'done', closed: true }));
    children.lost(CHILD, 'errored', 'terminated');
    expect(children.get(CHILD)).toMatchObject({ status: 'completed', message: 'done' });
    children.lost(STRANGER, 'errored', 'terminated');
    expect(children.get(STRANGER)).toBeUndefined();
  });
});

describe('what children have said', () => {
  const said = (length: number) => 'x'.repeat(length);

  test('goes whole into a new run where a wait may be answered with it, and shortened where all is closed', () => {
    const children = withChild();
    children.add(agentId('worker-2'), 'worker', undefined);
    children.apply(reportOf(CHILD, 1, { status: 'completed', message: said(100_000) }));
    children.apply(
      reportOf(agentId('worker-2'), 1, { status: 'shutdown', message: said(9_000), closed: true }),
    );
    const next = carried(children);
    expect(next.get(CHILD)?.message).toBe(said(100_000));
    expect(next.get(agentId('worker-2'))?.message).toMatch(/^x{4000}… \(cut/);
  });

  test('fits into a new run, however much it is; what is cut says so', () => {
    const children = new Children();
    for (let n = 1; n <= 100; n++) {
      const id = agentId(`worker-${n}`);
      children.add(id, 'worker', undefined);
      children.apply(reportOf(id, 1, { status: 'completed', message: said(50_000) }));
    }
    children.lost(agentId('worker-1'), 'errored', 'terminated');
    const { known } = children.carry;
    // Messages have 200 KB together; a view takes about half a kilobyte.
    expect(JSON.stringify(known).length).toBeLessThan(350_000);
    expect(children.bytes).toBeLessThan(350_000);
    expect(known.map(({ id }) => id)).toEqual(children.ids);
    expect(known.at(-1)?.message).toBe(said(50_000));
    expect(known[1]?.message).toContain('ask it for the rest');
    expect(children.get(agentId('worker-2'))?.message).toBe(said(50_000));
  });
});

describe('the abrupt end of a child', () => {
  test('is told to the run that has begun its life, and to no later one', () => {
    const children = withChild();
    expect(children.unheard).toEqual([]);
    const next = carried(children);
    expect(next.unheard.map(({ id }) => id)).toEqual([CHILD]);
    next.apply(reportOf(CHILD, 1, { status: 'completed', closed: true }));
    expect(next.unheard).toEqual([]);
    next.resumed(CHILD, 1, false);
    expect(next.unheard).toEqual([]);
    next.apply(reportOf(CHILD, nextLife(1) + 1, { status: 'running' }));
    expect(next.unheard).toEqual([]);
  });

  test('is not told where another agent has brought the child back', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed', closed: true }));
    const undo = children.resumed(CHILD, 1, false);
    children.apply(reportOf(CHILD, nextLife(1) + 1, { status: 'running' }));
    undo();
    expect(children.unheard.map(({ id }) => id)).toEqual([CHILD]);
  });
});

describe('an input on the way to a child', () => {
  test('keeps the end of an older turn from passing for its answer', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed', turn: 1 }));
    children.sent(CHILD, 'i1');
    expect(children.hasSettled(CHILD)).toBe(false);
    children.apply(reportOf(CHILD, 2, { status: 'running', turn: 2 }));
    children.apply(reportOf(CHILD, 3, { status: 'completed', turn: 2, taken: ['i1'] }));
    expect(children.hasSettled(CHILD)).toBe(true);
  });

  test('keeps a child unsettled whose turn ended just before the input arrived', () => {
    const children = withChild();
    children.sent(CHILD, 'i1');
    children.apply(reportOf(CHILD, 1, { status: 'completed', turn: 1, taken: [] }));
    expect(children.hasSettled(CHILD)).toBe(false);
    expect(children.working.map((known) => known.id)).toEqual([CHILD]);
  });

  test('is confirmed by any later input of the same sender', () => {
    const children = withChild();
    const inputs = Array.from({ length: 100 }, (_, index) => `i${index + 1}`);
    for (const input of inputs) children.sent(CHILD, input);
    children.apply(reportOf(CHILD, 1, { status: 'completed', taken: ['i99', 'another sender'] }));
    expect(children.get(CHILD)?.pending).toEqual(['i100']);
    children.apply(reportOf(CHILD, 2, { status: 'completed', turn: 2, taken: ['i100'] }));
    expect(children.hasSettled(CHILD)).toBe(true);
  });

  test('is still on the way after continue-as-new', () => {
    const children = withChild();
    children.sent(CHILD, 'i1');
    const next = carried(children);
    next.apply(reportOf(CHILD, 1, { status: 'completed' }));
    expect(next.hasSettled(CHILD)).toBe(false);
    expect(next.get(CHILD)).toEqual(
      expect.objectContaining({ isChild: true, role: 'worker', pending: ['i1'] }),
    );
  });

  test('that did not go out after all is not waited for', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed' }));
    children.sent(CHILD, 'i1');
    children.unsent(CHILD, 'i1');
    expect(children.hasSettled(CHILD)).toBe(true);
  });

  test('to an agent that is not known is not remembered', () => {
    const children = new Children();
    children.sent(STRANGER, 'i1');
    expect(children.get(STRANGER)).toBeUndefined();
  });
});

describe('how children stand, as others see it here', () => {
  const withView = (queued = false) => {
    const children = new Children();
    children.add(CHILD, 'worker', 'call_1', queued, viewOf(CHILD, { status: 'pending_init', task: 'look' }));
    return children;
  };

  test('is told from the start on, and as they have reported since', () => {
    expect(withView().views).toMatchObject([{ status: 'running', is_final: false, task: 'look' }]);
    expect(withView(true).views).toMatchObject([{ status: 'pending_init', queued: true }]);
    const children = withView();
    children.apply(reportOf(STRANGER, 1, { status: 'running' }));
    children.apply(reportOf(CHILD, 1, { turn: 2, waiting_for: 'tool', note: 'mine' }));
    expect(children.views).toEqual([
      viewOf(CHILD, { status: 'running', turn: 2, waiting_for: 'tool', note: 'mine' }),
    ]);
    expect(carried(children).views).toEqual(children.views);
  });

  test('goes on behind what they have said last: lost, resumed, or closed with this agent', () => {
    const children = withView();
    children.apply(reportOf(CHILD, 1, { waiting_for: 'tool', current_tool: 'look' }));
    children.lost(CHILD, 'errored', 'terminated', Date.parse('2026-01-01T13:00:00Z'));
    const [lost] = children.views;
    expect(lost).toMatchObject({
      status: 'errored',
      message: 'terminated',
      is_final: true,
      closed: true,
      status_since: '2026-01-01T13:00:00.000Z',
    });
    expect(lost).not.toHaveProperty('waiting_for');
    expect(lost).not.toHaveProperty('current_tool');
    children.resumed(CHILD, 1, false, Date.parse('2026-01-01T14:00:00Z'));
    expect(children.views).toMatchObject([
      { status: 'interrupted', closed: false, updated_at: '2026-01-01T14:00:00.000Z' },
    ]);
    const again = carried(children);
    again.reopen(Date.parse('2026-01-01T15:00:00Z'));
    expect(again.views).toMatchObject([{ closed: true, updated_at: '2026-01-01T15:00:00.000Z' }]);
  });

  test('is kept by no root, which knows the whole session', () => {
    const children = new Children(undefined, false);
    children.add(CHILD, 'worker', undefined, false, viewOf(CHILD));
    children.apply(reportOf(CHILD, 1));
    expect(children.views).toEqual([]);
    expect(JSON.stringify(children.carry)).not.toContain('working_directory');
  });

  test('fits into a new run: of very many the older ones go without task and note, and none is left out', () => {
    const children = new Children();
    for (let n = 1; n <= 400; n++) {
      const id = agentId(`worker-${n}`);
      const [task, note] = ['t'.repeat(200), 'n'.repeat(1_000)];
      children.add(id, 'worker', undefined, false, viewOf(id, { task, note }));
    }
    const { views } = carried(children);
    expect(views.map((view) => view.agent_id)).toEqual(children.ids);
    expect(views.at(-1)).toMatchObject({ task: expect.any(String), note: expect.any(String) });
    expect(views[0]).not.toHaveProperty('task');
    expect(views[0]).not.toHaveProperty('note');
    const bytes = JSON.stringify(children.carry).length;
    expect(bytes).toBeLessThan(500_000);
    expect(children.bytes).toBeGreaterThan(bytes * 0.8);
    expect(children.bytes).toBeLessThan(bytes * 1.5);
  });

  test('shows no more of a message than many may have', () => {
    const children = withView();
    children.apply(reportOf(CHILD, 1, { status: 'completed', message: 'x'.repeat(100_000) }));
    expect(children.views[0]?.message?.length).toBeLessThan(5_000);
    expect(children.get(CHILD)?.message).toHaveLength(100_000);
  });
});

describe('a child that is closed while its next turn waits to begin', () => {
  const done = { turn: 1, status: 'completed', message: 'done', duration_ms: 5 } as const;

  test.each<[string, (children: Children) => void]>([
    [
      'said before',
      (c) => c.apply(reportOf(CHILD, 1, { status: 'completed', message: 'done', ended: done })),
    ],
    ['said as it began to wait', (c) => c.apply(reportOf(CHILD, 1, { status: 'pending_init', ended: done }))],
  ])('comes back with what it had come to last, %s', (_, end) => {
    let children = withChild();
    end(children);
    children.apply(reportOf(CHILD, 2, { status: 'pending_init', queued: true }));
    children = carried(children);
    children.apply(reportOf(CHILD, 3, { status: 'shutdown', message: 'done', closed: true }));
    children.resumed(CHILD, 3, false);
    expect(children.get(CHILD)).toMatchObject({ status: 'completed', message: 'done', closed: false });
  });

  test('comes back as interrupted where that was to be its first one', () => {
    const children = new Children();
    children.add(CHILD, 'worker', undefined, true);
    children.apply(reportOf(CHILD, 1, { status: 'shutdown', closed: true, turn: 0 }));
    children.resumed(CHILD, 1, false);
    expect(children.get(CHILD)).toMatchObject({
      status: 'interrupted',
      message: 'the agent was closed before its first turn',
    });
  });

  test('is waited for no longer: what it was sent waits for the next input', () => {
    const children = withChild();
    children.apply(reportOf(CHILD, 1, { status: 'completed', message: 'done' }));
    children.sent(CHILD, 'i1');
    children.apply(reportOf(CHILD, 2, { status: 'pending_init' }));
    children.apply(reportOf(CHILD, 3, { status: 'shutdown', closed: true }));
    children.resumed(CHILD, 3, false);
    expect(children.hasSettled(CHILD)).toBe(true);
    expect(children.working).toEqual([]);
  });

  test('whose turn the closing has cut off comes back with the reason', () => {
    const children = withChild();
    const ended = { turn: 1, status: 'interrupted', message: 'enough', duration_ms: 5 } as const;
    children.apply(reportOf(CHILD, 1, { status: 'running' }));
    children.apply(reportOf(CHILD, 2, { status: 'shutdown', message: 'x', closed: true, ended }));
    children.resumed(CHILD, 2, false);
    expect(children.get(CHILD)).toMatchObject({ status: 'interrupted', message: 'enough' });
  });
});
