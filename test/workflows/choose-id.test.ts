import { expect, test } from 'vitest';
import { agentSettingsSchema, depthOf } from '../../protocol/index.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { chooseId } from '../../workflows/operations/choose-id.ts';
import { Refused } from '../../workflows/operations/refused.ts';
import { agentId, SESSION } from './agent-views.ts';

function agentAt(path: string): AgentState {
  const settings = agentSettingsSchema.parse({ model: 'm', provider: 'script', working_directory: '/tmp' });
  const id = agentId(path);
  const identity = {
    agent_id: id,
    session_id: SESSION,
    parent_id: SESSION,
    depth: depthOf(id),
    source: { kind: 'api' as const },
    task: 'x',
    search_attributes: [],
  };
  return new AgentState({ identity, settings }, undefined);
}
const refusal = (choose: () => unknown) => {
  try {
    return choose();
  } catch (error) {
    return error instanceof Refused ? error.body : error;
  }
};

test('a role and a number make an id, a name stands as it is', () => {
  const agent = agentAt('x');
  expect(chooseId(agent, 'explorer', undefined)).toBe(agentId('x/explorer-1'));
  expect(chooseId(agent, 'explorer', undefined)).toBe(agentId('x/explorer-2'));
  expect(chooseId(agent, 'explorer', 'main.line')).toBe(agentId('x/main.line'));
});

test('an id that Temporal would not take is refused, as a name and as a number', () => {
  const deep = agentAt(Array.from({ length: 15 }, () => 'x'.repeat(64)).join('/'));
  const problem = {
    code: 'limit_depth',
    message: expect.stringMatching(/would be too long: 1,0\d\d characters, of 1,000 at most/),
  };
  expect(refusal(() => chooseId(deep, 'r'.repeat(100), undefined))).toMatchObject(problem);
  expect(refusal(() => chooseId(deep, 'x', 'n'.repeat(64)))).toMatchObject(problem);
  expect(chooseId(deep, 'x', undefined)).toHaveLength(deep.id.length + 4);
});

test('a name that is none is refused', () => {
  for (const name of ['', '-x', 'a/b', 'n'.repeat(65)]) {
    expect(refusal(() => chooseId(agentAt('x'), 'x', name))).toMatchObject({ code: 'invalid_arguments' });
  }
});
