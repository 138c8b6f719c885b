import { describe, expect, test } from 'vitest';
import { limitsSchema } from '../../protocol/index.ts';
import { SessionTree } from '../../workflows/session-tree.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

const CHILD = agentId('worker-1');
const GRANDCHILD = agentId('worker-1/explorer-1');
const limits = limitsSchema.parse({ max_threads: 2 });
const NOON = Date.UTC(2026, 0, 1, 12);

const treeWith = (...views: Parameters<typeof viewOf>[]) => {
  const tree = new SessionTree(SESSION, limits);
  for (const [id, change] of views) tree.expect(viewOf(id, change));
  return tree;
};
const carried = (tree: SessionTree) =>
  new SessionTree(SESSION, limits, JSON.parse(JSON.stringify(tree.carry)));

describe("the root's picture of its session", () => {
  test('knows an agent from the moment its start is under way', () => {
    const tree = treeWith([CHILD, { status: 'pending_init', turn: 0 }]);
    expect(tree.candidates('worker-1')).toEqual([CHILD]);
    expect(tree.candidates(SESSION)).toEqual([SESSION]);
    expect(tree.busy).toBe(true);
    tree.forget(CHILD);
    expect(tree.candidates('worker-1')).toEqual([]);
    expect(tree.busy).toBe(false);
  });

  test('finds deeper agents by path and by name', () => {
    const tree = treeWith([CHILD], [GRANDCHILD], [agentId('explorer-2')]);
    expect(tree.candidates('worker-1/explorer-1')).toEqual([GRANDCHILD]);
    expect(tree.candidates('explorer-1')).toEqual([GRANDCHILD]);
    expect(tree.candidates('nobody')).toEqual([]);
  });

  test('takes no older report for news', () => {
    const tree = treeWith([CHILD]);
    const done = { status: 'completed', message: 'done' } as const;
    expect(tree.apply(reportOf(CHILD, 2, done))).toEqual({ statusChanged: true });
    expect(tree.apply(reportOf(CHILD, 1, { status: 'running' }))).toBeUndefined();
    expect(tree.apply(reportOf(CHILD, 3, { ...done, closed: true }))).toEqual({ statusChanged: false });
    expect(tree.apply(reportOf(CHILD, 4, { ...done, turn: 2 }))).toEqual({ statusChanged: true });
    expect(tree.report(CHILD)?.view).toMatchObject({ status: 'completed', message: 'done' });
    expect(tree.busy).toBe(false);
  });

  test('shows an idle agent that was granted a slot as running, without its last answer', () => {
    const tree = treeWith([CHILD]);
    tree.apply(
      reportOf(CHILD, 1, { status: 'completed', message: 'done', queued: true, waiting_for: 'slot' }),
    );
    tree.granted(CHILD, NOON);
    expect(tree.report(CHILD)?.view).toMatchObject({ status: 'running', is_final: false });
    expect(tree.report(CHILD)?.view).not.toHaveProperty('message');
    expect(tree.report(CHILD)?.view).not.toHaveProperty('queued');
    expect(tree.report(CHILD)?.view).not.toHaveProperty('waiting_for');
    expect(tree.busy).toBe(true);
    tree.granted(agentId('nobody-1'), NOON);
    expect(tree.ids).toEqual([CHILD]);
  });

  test('takes an agent for closed that can report no more', () => {
    const tree = treeWith([CHILD], [GRANDCHILD]);
    tree.apply(reportOf(CHILD, 1, { waiting_for: 'approval', current_tool: 'shell' }));
    tree.lost(CHILD, 'ended from outside', NOON);
    expect(tree.report(CHILD)?.view).not.toHaveProperty('waiting_for');
    expect(tree.report(CHILD)?.view).not.toHaveProperty('current_tool');
    expect(tree.report(CHILD)?.view).toMatchObject({
      status: 'errored',
      message: 'ended from outside',
      is_final: true,
      closed: true,
    });
    expect(tree.openIds).toEqual([GRANDCHILD]);
    tree.apply(reportOf(GRANDCHILD, 1, { status: 'completed', message: 'kept', closed: true }));
    tree.lost(GRANDCHILD, 'ended from outside', NOON);
    expect(tree.report(GRANDCHILD)?.view.message).toBe('kept');
    expect(tree.busy).toBe(false);
  });

  test('in a session that ends in good order, what an agent has ended with holds also for one that is terminated', () => {
    const tree = treeWith([CHILD], [GRANDCHILD]);
    tree.apply(reportOf(CHILD, 1, { status: 'completed', message: 'done', is_final: true }));
    for (const id of [CHILD, GRANDCHILD]) tree.lost(id, 'ended from outside', NOON, true);
    expect(tree.report(CHILD)?.view).toMatchObject({ status: 'completed', message: 'done', closed: true });
    expect(tree.report(GRANDCHILD)?.view).toMatchObject({ status: 'errored', is_final: true, closed: true });
    expect(tree.openIds).toEqual([]);
  });

  test('keeps who wants the reports of an agent, until the wait is over or the watcher is gone', () => {
    let tree = treeWith([CHILD], [GRANDCHILD]);
    tree.watches.begin('c1', CHILD, [GRANDCHILD]);
    tree.watches.begin('c2', CHILD, [GRANDCHILD, SESSION]);
    tree.watches.begin('s1', SESSION, [GRANDCHILD]);
    tree.watches.begin('s2', SESSION, []);
    tree = carried(tree);
    expect(tree.watches.of(GRANDCHILD)).toEqual([CHILD, SESSION]);
    expect(tree.watches.of(CHILD)).toEqual([]);
    tree.watches.end('c1', CHILD);
    expect(tree.watches.of(GRANDCHILD)).toEqual([CHILD, SESSION]);
    tree.watches.end('c2', GRANDCHILD);
    tree.watches.forget(CHILD);
    expect(tree.watches.of(GRANDCHILD)).toEqual([SESSION]);
    tree.watches.end('s1', SESSION);
    expect(tree.carry.watches).toEqual([]);
  });

  test('cuts long messages, since it holds those of every agent', () => {
    const tree = treeWith([CHILD]);
    tree.apply(reportOf(CHILD, 1, { status: 'completed', message: 'x'.repeat(100_000) }));
    const { message = '' } = tree.report(CHILD)?.view ?? {};
    expect(message).toMatch(/^x{30000,}\n\[… \d+ of 100000 bytes left out …\]\nx{30000,}$/);
    expect(message.length).toBeLessThan(64_001);
    const shown = tree.views[0]?.message ?? '';
    expect(shown.length).toBeLessThan(4_200);
    expect(shown).toContain('ask it for the rest');
  });

  test('fits into a new run, however many agents have said much', () => {
    const ids = Array.from({ length: 500 }, (_, n) => agentId(`worker-${n + 1}`));
    const tree = treeWith(...ids.map((id): [typeof id] => [id]));
    for (const id of ids) tree.apply(reportOf(id, 1, { status: 'completed', message: 'x'.repeat(9_000) }));
    const messages = tree.carry.reports.map(({ view }) => view.message ?? '');
    expect(messages.join('').length).toBeLessThan(350_000);
    expect(messages.every((message) => message.includes('(cut;'))).toBe(true);
    expect(carried(tree).ids).toEqual(ids);
  });

  test('stays the same through continue-as-new', () => {
    const tree = treeWith([CHILD, { status: 'pending_init' }], [GRANDCHILD]);
    tree.slots.reserveSpawn({ agent: CHILD, requestId: 'r1' }, false);
    tree.slots.reserveSpawn({ agent: GRANDCHILD, requestId: 'r2' }, false);
    tree.slots.reserve({ agent: agentId('worker-2'), requestId: 'r3' }, true);
    tree.watches.begin('w1', GRANDCHILD, [CHILD]);
    const next = carried(tree);
    expect(next.views).toEqual(tree.views);
    expect(next.carry).toEqual(tree.carry);
    expect(next.slots.turnEnded(CHILD)).toEqual([{ agent: agentId('worker-2'), requestId: 'r3' }]);
  });
});
