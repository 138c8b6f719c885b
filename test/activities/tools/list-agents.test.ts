import { expect, test } from 'vitest';
import type { Role } from '../../../activities/roles/role.ts';
import { catalogOf, listAgents } from '../../../activities/tools/list-agents.ts';
import { contextIn } from './tool-context.ts';

async function list(args: Record<string, unknown> = {}) {
  const output = await listAgents.run(listAgents.parameters.parse(args), contextIn('/'));
  return JSON.parse(output as string).agents;
}

const role: Role = {
  name: 'tester',
  description: 'Tests things.',
  body: 'You test.',
  tools: ['shell', 'read_file', 'mcp__*'],
  allow_list: ['read_*', 'mcp__web__*', 'grep_files'],
  deny_list: ['wait'],
  model: 'gpt-5',
  agent_names: [
    {
      name: 'quick',
      description: 'In a hurry.',
      model: 'gpt-5-mini',
      reasoning_effort: 'low',
      prompt: 'Be quick.',
    },
    { name: 'plain' },
  ],
};
const shown = (expanded: boolean) => JSON.parse(catalogOf([role], expanded)).agents[0];

test('all roles are listed with what each is for, and nothing more', async () => {
  const agents = await list();
  expect(agents.map((agent: { agent_type: string }) => agent.agent_type)).toEqual([
    'default',
    'explorer',
    'orchestrator',
    'worker',
  ]);
  for (const agent of agents) {
    expect(Object.keys(agent)).toEqual(['agent_type', 'description', 'allow_list', 'deny_list']);
    expect(agent.description).not.toBe('');
  }
});

test('one role is listed by its name or its alias', async () => {
  for (const agent_type of ['explorer', 'search']) {
    expect(await list({ agent_type })).toMatchObject([{ agent_type: 'explorer' }]);
  }
});

test.each(['wizard', 'constructor', '__proto__', 'x'.repeat(5_000)])(
  'an unknown role is refused with those that are accepted: %.20s',
  async (agent_type) => {
    await expect(list({ agent_type })).rejects.toMatchObject({
      code: 'unknown_role',
      hint: 'Accepted: default, explorer, orchestrator, search, worker.',
    });
  },
);

test('expanded adds model, effort and prompt', async () => {
  expect(await list({ agent_type: 'worker', expanded: true })).toMatchObject([
    { model: null, reasoning_effort: null, default_prompt: expect.stringContaining('one piece') },
  ]);
});

test('lists of tools and personas are shown as they bind', () => {
  expect(shown(false)).toEqual({
    agent_type: 'tester',
    description: 'Tests things.',
    allow_list: ['read_file', 'mcp__web__*'],
    deny_list: ['wait'],
    agent_names: [
      { name: 'quick', description: 'In a hurry.' },
      { name: 'plain', description: null },
    ],
  });
});

test('expanded tells the same of personas', () => {
  expect(shown(true)).toMatchObject({
    model: 'gpt-5',
    reasoning_effort: null,
    default_prompt: 'You test.',
    agent_names: [
      { model: 'gpt-5-mini', reasoning_effort: 'low', prompt: 'Be quick.' },
      { model: null, reasoning_effort: null, prompt: null },
    ],
  });
});

test('a role without tools is told apart from one that may use all', () => {
  const { tools: _, allow_list: __, ...open } = role;
  const listOf = (role: Role) => JSON.parse(catalogOf([role], false)).agents[0].allow_list;
  expect(listOf({ ...open, tools: [] })).toEqual([]);
  expect(listOf({ ...open, allow_list: ['shell'] })).toEqual(['shell']);
  expect(listOf(open)).toBeNull();
});
