import { expect, test } from 'vitest';
import { agentSettingsSchema, depthOf } from '../../protocol/index.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { carriedBytes } from '../../workflows/continue-as-new.ts';
import { textInput } from '../../workflows/inbox.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

function agentAt(path: string): AgentState {
  const settings = agentSettingsSchema.parse({
    role: 'default',
    model: 'scripted',
    provider: 'script',
    working_directory: '/tmp',
  });
  const source = { kind: 'api' as const };
  const id = agentId(path);
  const identity = {
    agent_id: id,
    session_id: SESSION,
    depth: depthOf(id),
    source,
    task: 'x',
    search_attributes: [],
    ...(path === '' ? {} : { parent_id: SESSION }),
  };
  return new AgentState({ identity, settings }, undefined);
}

const CHILD = agentId('worker-1');
const LONG = 'x'.repeat(100_000);

test.each<[string, number, (agent: AgentState) => void]>([
  [
    'what has come that nobody has acted on',
    100_000,
    ({ orders }) => orders.push({ type: 'mail', mail: { type: 'note', note: LONG } }),
  ],
  ['input that waits', 100_000, ({ inbox }) => inbox.accept(textInput('i1', LONG))],
  [
    'what a child has said last',
    100_000,
    ({ children }) => {
      children.add(CHILD, 'worker', undefined);
      children.apply(reportOf(CHILD, 1, { status: 'completed', message: LONG }));
    },
  ],
  [
    'what children have come to, of which nobody has told the model yet',
    400_000,
    ({ inbox }) => {
      for (let turn = 1; turn <= 20; turn++) {
        inbox.announce({ child: CHILD, turn, status: 'completed', text: LONG });
      }
    },
  ],
  [
    'what the root knows of every agent',
    63_900,
    ({ tree }) => {
      tree?.expect(viewOf(CHILD));
      tree?.apply(reportOf(CHILD, 1, { status: 'completed', message: LONG }));
    },
  ],
  [
    'what clients have been answered',
    100_000,
    ({ operations }) => {
      operations.begin('o1');
      operations.end('o1', true, LONG);
    },
  ],
])('what goes into a new run counts, whatever it is: %s', (_what, bytes, happen) => {
  const agent = agentAt('');
  expect(carriedBytes(agent)).toBe(0);
  happen(agent);
  expect(carriedBytes(agent)).toBeGreaterThanOrEqual(bytes);
  expect(carriedBytes(agent)).toBeLessThan(bytes + 4_000);
});

test('what an agent below the root knows of its children counts as much as it takes', () => {
  const agent = agentAt('worker-7');
  const children = Array.from({ length: 200 }, (_, index) => agentId(`worker-7/worker-${index + 1}`));
  for (const id of children) {
    const view = viewOf(id, { task: 't'.repeat(200), note: 'n'.repeat(1_000) });
    agent.children.add(id, 'worker', undefined, false, view);
    agent.children.apply(reportOf(id, 1, { ...view, status: 'completed', message: LONG }));
  }
  const taken = JSON.stringify(agent.carry.children).length;
  expect(carriedBytes(agent)).toBeGreaterThan(taken * 0.9);
  expect(carriedBytes(agent)).toBeLessThan(600_000);
  const { carry } = agent;
  const next = new AgentState(
    { identity: agent.identity, settings: agent.settings },
    JSON.parse(JSON.stringify(carry)),
  );
  expect(next.treeView.agents.map(({ agent_id: id }) => id)).toEqual([agent.id, ...children]);
});
