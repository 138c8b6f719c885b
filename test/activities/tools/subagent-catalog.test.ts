import { expect, test } from 'vitest';
import { subagentDescribe, subagentList } from '../../../activities/tools/subagent-catalog.ts';
import { contextIn } from './tool-context.ts';

const context = contextIn('/');
const read = (answer: unknown) => JSON.parse(answer as string);

test('subagent_list gives each name once, with a description', async () => {
  const { agents } = read(await subagentList.run({}, context));
  const names = agents.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['default', 'explorer', 'worker']));
  expect(new Set(names).size).toBe(names.length);
  for (const agent of agents) {
    expect(Object.keys(agent)).toEqual(['name', 'description']);
    expect(agent.description).not.toBe('');
  }
});

test('subagent_describe gives description, tools and body of one', async () => {
  const explorer = read(await subagentDescribe.run({ name: 'explorer' }, context));
  expect(Object.keys(explorer)).toEqual(['name', 'description', 'tools', 'body']);
  expect(explorer.name).toBe('explorer');
  expect(explorer.body.length).toBeGreaterThan(40);
});

test('an unknown one is told with the names that there are', async () => {
  await expect(subagentDescribe.run({ name: 'ghost' }, context)).rejects.toMatchObject({
    code: 'unknown_role',
    message: expect.stringMatching(/^Sub-agent execution failed: .*ghost/),
    hint: expect.stringContaining('explorer'),
  });
});
