import { expect, test } from 'vitest';
import { agentSettingsSchema } from '../../protocol/index.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { carriedBytes } from '../../workflows/continue-as-new.ts';
import { textInput } from '../../workflows/inbox.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

function root(): AgentState {
  const settings = agentSettingsSchema.parse({
    role: 'default',
    model: 'scripted',
    provider: 'script',
    working_directory: '/tmp',
  });
  const source = { kind: 'api' as const };
  const identity = {
    agent_id: SESSION,
    session_id: SESSION,
    depth: 0,
    source,
    task: 'x',
    search_attributes: [],
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
  const agent = root();
  expect(carriedBytes(agent)).toBe(0);
  happen(agent);
  expect(carriedBytes(agent)).toBeGreaterThanOrEqual(bytes);
  expect(carriedBytes(agent)).toBeLessThan(bytes + 2_000);
});
