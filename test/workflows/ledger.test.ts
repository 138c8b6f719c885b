import { describe, expect, test } from 'vitest';
import { type AgentId, agentSettingsSchema, type SlotRequest } from '../../protocol/index.ts';
import { nextLife } from '../../protocol/lives.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { answerLookup, answerSlotRequest, recordReport } from '../../workflows/ledger.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

const [ONE, TWO] = ['worker-1', 'worker-2'].map(agentId) as [AgentId, AgentId];

/** A root that asks for itself, so that nothing has to be sent. */
function rootWith(limits: object): AgentState {
  const settings = agentSettingsSchema.parse({
    role: 'default',
    model: 'scripted',
    provider: 'script',
    working_directory: '/tmp',
    limits,
  });
  const identity = {
    agent_id: SESSION,
    session_id: SESSION,
    depth: 0,
    source: { kind: 'api' as const },
    task: 'x',
    search_attributes: [],
  };
  return new AgentState({ identity, settings }, undefined);
}

type Reserve = Extract<SlotRequest, { kind: 'reserve' }>;
const reserve = (id: AgentId): Reserve => ({
  kind: 'reserve',
  request_id: `for ${id}`,
  agent_id: id,
  from: SESSION,
  queue: false,
});
const spawnOf = (id: AgentId): Reserve => ({
  ...reserve(id),
  spawn: viewOf(id, { status: 'pending_init', turn: 0 }),
});
const ended = (turn: number) => ({ turn, status: 'completed', message: 'done', duration_ms: 5 }) as const;
const slotsOf = (root: AgentState) => root.tree?.slots.carry;

describe('the root', () => {
  test('takes back a spawn that came to nothing, but none that it had refused', () => {
    const root = rootWith({ max_agents: 1 });
    answerSlotRequest(root, spawnOf(ONE));
    answerSlotRequest(root, spawnOf(TWO));
    answerSlotRequest(root, { kind: 'cancel_spawn', agent_id: TWO });
    expect(slotsOf(root)).toMatchObject({ spawned: 1, working: [ONE] });
    answerSlotRequest(root, { kind: 'cancel_spawn', agent_id: ONE });
    expect(slotsOf(root)).toMatchObject({ spawned: 0, working: [] });
    expect(root.tree?.ids).toEqual([]);
  });

  test('takes all below a lost agent for lost, also what it was about to start', () => {
    const below = ['worker-1/explorer-1', 'worker-1/explorer-2'].map(agentId) as [AgentId, AgentId];
    const root = rootWith({});
    for (const id of [ONE, TWO, ...below]) answerSlotRequest(root, spawnOf(id));
    recordReport(root, reportOf(below[0], 1, { status: 'running' }));
    answerSlotRequest(root, { kind: 'release', agent_id: ONE, closed: true, life: 0 });
    expect(slotsOf(root)).toMatchObject({ working: [TWO, ...below] });
    answerSlotRequest(root, { kind: 'release_below', agent_id: ONE, life: 0 });
    expect(slotsOf(root)).toMatchObject({ working: [TWO], spawned: 4 });
    expect(root.tree?.openIds).toEqual([TWO]);
    const late = reportOf(below[1], 1, { status: 'running' });
    expect(recordReport(root, late)).toBeUndefined();
  });

  test('takes none for lost that is back, nor what is below it, whatever is told of its life before', () => {
    const below = agentId('worker-1/explorer-1');
    const root = rootWith({});
    for (const id of [ONE, below]) {
      answerSlotRequest(root, spawnOf(id));
      recordReport(root, reportOf(id, nextLife(0) + 1, { status: 'running' }));
    }
    answerSlotRequest(root, { kind: 'release', agent_id: ONE, closed: true, life: 0 });
    answerSlotRequest(root, { kind: 'release_below', agent_id: ONE, life: 0 });
    expect(root.tree?.openIds).toEqual([ONE, below]);
    expect(slotsOf(root)?.working).toEqual([ONE, below]);
  });

  test('looks for itself whether an agent has ended of which an orphan supposes so', () => {
    const root = rootWith({});
    answerSlotRequest(root, spawnOf(ONE));
    answerSlotRequest(root, { kind: 'release', agent_id: ONE, closed: true });
    expect(root.tree?.openIds).toEqual([ONE]);
    expect(root.orders).toEqual([{ type: 'suspicion', id: ONE }]);
  });

  test('takes a child of its own for lost also where another agent has noticed it', () => {
    const root = rootWith({});
    answerSlotRequest(root, { ...reserve(ONE), spawn: viewOf(ONE, { parent_id: SESSION }) });
    root.children.add(ONE, 'worker', undefined);
    answerSlotRequest(root, { kind: 'release', agent_id: ONE, closed: true, life: 0 });
    expect(root.orders).toMatchObject([{ type: 'death', id: ONE, life: 0 }]);
    expect(slotsOf(root)?.working).toEqual([]);
  });

  test('waits for an agent that the end of a turn below it wakes', () => {
    const root = rootWith({ wake_parent: true });
    const below = agentId('worker-1/explorer-1');
    for (const id of [ONE, below]) answerSlotRequest(root, spawnOf(id));
    recordReport(root, reportOf(ONE, 1, { status: 'completed', ended: ended(1) }));
    recordReport(root, reportOf(below, 1, { status: 'completed', parent_id: ONE, ended: ended(1) }));
    expect(root.tree?.busy).toBe(true);
    expect(root.tree?.report(ONE)?.view).toMatchObject({ status: 'pending_init', is_final: false });
  });

  test('waits for none that has ended a turn since then, which may have heard of it', () => {
    const root = rootWith({ wake_parent: true });
    const below = agentId('worker-1/explorer-1');
    for (const id of [ONE, below]) answerSlotRequest(root, spawnOf(id));
    const status_since = '2026-01-01T12:00:00.001Z';
    recordReport(root, reportOf(ONE, 1, { status: 'completed', status_since, ended: ended(1) }));
    recordReport(root, reportOf(below, 1, { status: 'completed', parent_id: ONE, ended: ended(1) }));
    expect(root.tree?.busy).toBe(false);
  });

  test('frees the slot when a turn has ended, also where the agent has more to do', () => {
    const root = rootWith({});
    answerSlotRequest(root, spawnOf(ONE));
    recordReport(root, reportOf(ONE, 1, { status: 'pending_init', turn: 1, ended: ended(1) }));
    expect(slotsOf(root)?.working).toEqual([]);
    expect(root.tree?.busy).toBe(true);
  });

  test('keeps the slot that was reserved for an agent, whatever it says before its turn begins', () => {
    const root = rootWith({});
    answerSlotRequest(root, spawnOf(ONE));
    recordReport(root, reportOf(ONE, 1, { status: 'completed', turn: 1, ended: ended(1) }));
    answerSlotRequest(root, reserve(ONE));
    recordReport(root, reportOf(ONE, 2, { status: 'completed', turn: 1, note: 'a new note' }));
    expect(slotsOf(root)?.working).toEqual([ONE]);
    recordReport(root, reportOf(ONE, 3, { status: 'completed', turn: 2, ended: ended(2) }));
    expect(slotsOf(root)?.working).toEqual([]);
  });

  test.each(['running', 'open'])('is busy with an agent that takes a slot for itself (%s)', (count) => {
    const root = rootWith({ count });
    answerSlotRequest(root, spawnOf(ONE));
    recordReport(root, reportOf(ONE, 1, { status: 'completed', turn: 1, ended: ended(1) }));
    expect(root.tree?.busy).toBe(false);
    answerSlotRequest(root, { kind: 'reclaim', request_id: 'r', agent_id: ONE, from: SESSION });
    expect(root.tree?.busy).toBe(true);
  });

  test('does not take a closed agent for one at work because somebody asks for it', () => {
    const root = rootWith({});
    answerSlotRequest(root, spawnOf(ONE));
    recordReport(root, reportOf(ONE, 1, { status: 'shutdown', closed: true }));
    answerSlotRequest(root, reserve(ONE));
    expect(root.tree?.report(ONE)?.view).toMatchObject({ status: 'shutdown', is_final: true });
  });
});

test('an answer about many agents fits into a signal, whatever they have said', () => {
  const root = rootWith({});
  const ids = Array.from({ length: 1_000 }, (_, n) => agentId(`worker-${n}`));
  for (const id of ids) {
    root.tree?.expect(viewOf(id));
    root.tree?.apply(reportOf(id, 1, { status: 'completed', message: 'x'.repeat(10_000) }));
  }
  const lookup = { request_id: 'r', from: ONE, references: ids, watch: true };
  const { found } = answerLookup(root, lookup);
  expect(found.map(({ report }) => report?.view.agent_id)).toEqual(ids);
  expect(JSON.stringify(found).length).toBeLessThan(1_500_000);
  expect(
    answerLookup(root, { ...lookup, references: [ONE] }).found[0]?.report?.view.message?.length,
  ).toBeGreaterThan(3_000);
});
