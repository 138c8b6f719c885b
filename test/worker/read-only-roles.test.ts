import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { detectSandbox } from '../../activities/sandbox/detect-sandbox.ts';
import { defineTool } from '../../activities/tools/index.ts';
import { folderWith } from '../support/folders.ts';
import { outputs } from '../workflows/script.ts';
import { type Lines, withRealWorker } from './real-worker.ts';

const writing = (name: string) =>
  defineTool({
    name,
    description: 'Writes a file.',
    effects: 'some',
    parameters: z.strictObject({ path: z.string() }),
    run: async ({ path }, context) => {
      writeFileSync(context.resolve(path), 'written by a tool');
      return 'written';
    },
  });
const start = withRealWorker({ tools: [writing('apply_patch'), writing('save_report')] });

const { works } = await detectSandbox();

/** Every way to a file that a command has; `outside` is a folder beside the agent's own. */
const commands = (outside: string) => [
  'echo x > redirected.txt',
  'echo x >> kept.txt',
  'tee teed.txt < kept.txt',
  'ln -s kept.txt link.txt',
  'ln kept.txt hard.txt',
  'echo x > out/through-a-link.txt',
  `echo x > ${outside}/straight.txt`,
  `sh -c "sh -c 'touch by-a-grandchild.txt'"`,
  '(sleep 0.1; touch in-the-background.txt) & wait $!',
  'setsid --wait nohup sh -c "touch detached.txt" </dev/null',
  'cp kept.txt copied.txt',
  'mv kept.txt moved.txt',
  'rm -f kept.txt',
  'chmod 777 kept.txt',
  'cd /tmp && mkdir of-a-read-only-role && rmdir of-a-read-only-role',
  'mount -o remount,rw / ; touch remounted.txt',
];

const shell = (command: string) => ({ name: 'shell', arguments: { command } });
const attempts = (outside: string): Lines => [
  {
    calls: [
      shell(
        commands(outside)
          .map((command) => `( ${command} ) && echo DONE`)
          .join('\n'),
      ),
    ],
  },
  { calls: [{ name: 'apply_patch', arguments: { path: 'patched.txt' } }] },
  { calls: [{ name: 'save_report', arguments: { path: join(outside, 'report.txt') } }] },
];
const spawn = (agent_type: string) => ({
  calls: [{ name: 'spawn_agent', arguments: { message: 'write', agent_type } }],
});
const waitFor = (id: string) => ({ calls: [{ name: 'wait', arguments: { ids: [id] } }] });

const shy = '---\ndescription: Only reads.\npermissionMode: plan\n---\nYou read.\n';

test.skipIf(!works).each(['explorer', 'explore', 'plan', 'review', 'shy'])(
  'an agent that is %s writes nothing: by tool, redirect, link or child process, nor does an agent of its own',
  async (role) => {
    const outside = folderWith();
    const folder = folderWith({ 'kept.txt': 'as it was', '.claude/agents/shy.md': shy });
    symlinkSync(outside, join(folder, 'out'));
    const before = readdirSync(folder).sort();
    const session = await start({
      settings: { working_directory: folder, sandbox_mode: 'danger-full-access' },
      session: { non_interactive: false },
      cast: {
        root: [spawn(role), waitFor(`${role}-1`), { text: 'ok' }],
        [`${role}-1`]: [
          ...attempts(outside),
          spawn('worker'),
          waitFor(`${role}-1/worker-1`),
          { text: 'done' },
        ],
        [`${role}-1/worker-1`]: [...attempts(outside), { text: 'done' }],
      },
    });
    expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });

    expect(readdirSync(folder).sort()).toEqual(before);
    expect(readFileSync(join(folder, 'kept.txt'), 'utf8')).toBe('as it was');
    expect(readdirSync(outside)).toEqual([]);
    for (const name of [`${role}-1`, `${role}-1/worker-1`]) {
      const items = await session.items(name);
      for (const tool of ['apply_patch', 'save_report']) {
        expect(outputs(items, tool), name).toMatchObject([{ error: { code: 'tool_not_allowed' } }]);
      }
      const said = items.filter((item) => item.type === 'tool_output').map((item) => item.output);
      expect(said.filter((text) => text.includes('DONE'))).toEqual([]);
      expect(await session.agent(name).status()).toMatchObject({ sandbox_mode: 'read-only' });
    }
  },
);

test.skipIf(!works)('the same attempts change the folder where an agent may write', async () => {
  const outside = folderWith();
  const folder = folderWith({ 'kept.txt': 'as it was' });
  symlinkSync(outside, join(folder, 'out'));
  const session = await start({
    settings: { working_directory: folder },
    cast: {
      root: [spawn('implementer'), waitFor('implementer-1'), { text: 'ok' }],
      'implementer-1': [...attempts(outside), { text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const names = [
    'redirected',
    'teed',
    'link',
    'hard',
    'by-a-grandchild',
    'in-the-background',
    'detached',
    'patched',
  ];
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(names.map((name) => `${name}.txt`)));
  expect(readdirSync(outside)).toContain('report.txt');
});

test.skipIf(!works)('a root that a program starts as one that only reads writes nothing either', async () => {
  const outside = folderWith();
  const folder = folderWith({ 'kept.txt': 'as it was' });
  symlinkSync(outside, join(folder, 'out'));
  const session = await start({
    settings: { working_directory: folder, sandbox_mode: 'danger-full-access', role: 'explorer' },
    cast: {
      root: [...attempts(outside), spawn('worker'), waitFor('worker-1'), { text: 'ok' }],
      'worker-1': [...attempts(outside), { text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  expect(readdirSync(folder).sort()).toEqual(['kept.txt', 'out']);
  expect(readFileSync(join(folder, 'kept.txt'), 'utf8')).toBe('as it was');
  expect(readdirSync(outside)).toEqual([]);
});

test('a role of a file reaches the model: its text, its tools, and no others', async () => {
  const text = '---\ndescription: d\ntools: Read, Grep\n---\nYou count the lines.\n';
  const folder = folderWith({ '.claude/agents/counter.md': text, 'kept.txt': 'one' });
  const session = await start({
    settings: { working_directory: folder },
    cast: {
      root: [spawn('counter'), waitFor('counter-1'), { text: 'ok' }],
      'counter-1': [
        { calls: [{ name: 'read_file', arguments: { path: 'kept.txt' } }, shell('wc -l kept.txt')] },
        { text: 'one' },
      ],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const [first] = session.requests('counter-1');
  expect(first?.instructions?.endsWith('\n\nYou count the lines.')).toBe(true);
  expect(first?.tools).toEqual(['read_file', 'grep_files', 'view_image', 'handle_read']);
  expect(outputs(await session.items('counter-1'), 'shell')).toMatchObject([
    { error: { code: 'tool_not_allowed' } },
  ]);
});
