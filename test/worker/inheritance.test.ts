import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../support/folders.ts';
import { outputs } from '../workflows/script.ts';
import { type Lines, withRealWorker, withRole } from './real-worker.ts';

const start = withRealWorker();

const spawnEach = (...calls: object[]): Lines[number] => ({
  calls: calls.map((args) => ({ name: 'spawn_agent', arguments: { message: 'look', ...args } })),
});
const waitFor = (...ids: string[]): Lines[number] => ({
  calls: [{ name: 'wait', arguments: { ids, mode: 'all' } }],
});

test('what a root was started with holds for all below it, down to what their model is sent', async () => {
  const folder = realpathSync(folderWith({ 'sub/note.txt': 'x' }));
  const session = await start({
    models: ['another-model'],
    settings: {
      working_directory: folder,
      model: 'another-model',
      reasoning_effort: 'low',
      sandbox_mode: 'read-only',
      approval_policy: 'never',
      instructions: 'Speak French.',
      tool_policy: { allow: [], deny: ['update_plan'] },
    },
    // People could be asked, were it not for the policy.
    session: { non_interactive: false },
    cast: {
      root: [spawnEach({}, { agent_type: 'worker' }), waitFor('default-1', 'worker-1'), { text: 'ok' }],
      'default-1': [spawnEach({}), waitFor('default-1/default-1'), { text: 'done' }],
      'default-1/default-1': [
        spawnEach({ working_directory: join(folder, 'sub') }),
        { calls: [{ name: 'update_plan', arguments: { plan: [] } }] },
        { text: 'done' },
      ],
      'worker-1': [{ text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  const [own] = session.requests('root');
  /** All but the first paragraph, which tells an agent its id and its place. */
  const rules = (text = '') => text.split('\n\n').slice(1).join('\n\n');
  expect(rules(own?.instructions)).toMatch(/^Working directory: .*Speak French\.$/s);
  for (const name of ['default-1', 'default-1/default-1', 'worker-1']) {
    const [first] = session.requests(name);
    expect(first?.model, name).toBe('another-model');
    expect(first?.body.reasoning, name).toMatchObject({ effort: 'low' });
    expect(first?.tools, name).toEqual(own?.tools);
    expect(first?.tools, name).not.toContain('update_plan');
    expect(first?.instructions, name).toContain(`Working directory: ${folder}\nSandbox: read-only.`);
    expect(await session.agent(name).status(), name).toMatchObject({
      model: 'another-model',
      reasoning_effort: 'low',
      sandbox_mode: 'read-only',
      working_directory: folder,
    });
  }
  // The same base, and the same developer's instructions; another role brings its own instead of those.
  for (const name of ['default-1', 'default-1/default-1']) {
    expect(rules(session.requests(name)[0]?.instructions), name).toBe(rules(own?.instructions));
  }
  const worker = rules(session.requests('worker-1')[0]?.instructions);
  const base = rules(own?.instructions).replace('Speak French.', '');
  expect(worker.startsWith(base)).toBe(true);
  expect(worker.slice(base.length)).toContain('You carry out one piece');
  expect(worker).not.toContain('French');

  // What the policies forbid is forbidden two levels below as well, whoever forces the call.
  const items = await session.items('default-1/default-1');
  expect(outputs(items, 'spawn_agent')).toMatchObject([
    {
      error: { code: 'approval_denied', message: expect.stringContaining('the approval policy is "never"') },
    },
  ]);
  expect(outputs(items, 'update_plan')).toMatchObject([{ error: { code: 'tool_not_allowed' } }]);
});

test('the provider’s own search is there for whom it is switched on and not denied, a fork of theirs included', async () => {
  withRole({
    name: 'offline',
    description: 'Stays here.',
    body: 'You stay here.',
    deny_list: ['web_search'],
  });
  const session = await start({
    settings: { working_directory: '/' },
    session: { tools: { web_search: true } },
    cast: {
      root: [
        spawnEach({}, { agent_type: 'offline' }, { agent_type: 'offline', fork_context: true }),
        waitFor('default-1', 'offline-1', 'offline-2'),
        { text: 'ok' },
      ],
      'default-1': [{ search: 'news', text: 'found' }],
      'offline-1': [{ text: 'none' }],
      'offline-2': [{ text: 'none' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const searches = (name: string) => session.requests(name)[0]?.tools.includes('web_search');
  expect(['root', 'default-1', 'offline-1', 'offline-2'].map(searches)).toEqual([true, true, false, false]);
  expect(await session.items('default-1')).toContainEqual(
    expect.objectContaining({ type: 'reasoning', summary: 'Searched the web: news' }),
  );
});
