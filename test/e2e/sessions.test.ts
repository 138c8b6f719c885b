import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { CadreHome, playing } from './cadre-home.ts';

const home = new CadreHome();

beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

test('two runs at once share one server, keep their environments apart, and one survives the death of the other', async () => {
  const start = (color: string) =>
    home.start(['run', 'what do you see', ...playing('keys.yaml')], {
      cwd: home.folder,
      env: { COLOR: color, MY_API_KEY: `secret-of-${color}` },
    });
  const red = start('red');
  const blue = start('blue');
  const green = start('green');
  await Promise.all([red.says(/shell · /), blue.says(/shell · /), green.says(/shell · /)]);
  green.child.kill('SIGKILL');
  const [first, second] = await Promise.all([red.ended, blue.ended]);
  // The key's name looks like a secret, so the command does not see it.
  expect(first).toMatchObject({ code: 0, stdout: 'color=red key=\n' });
  expect(second).toMatchObject({ code: 0, stdout: 'color=blue key=\n' });
  const servers = home.pidsBesideCodec().length;
  expect(servers).toBe(1);
});

test('run --detach prints the id and returns; the session ends by itself, and so does its worker', async () => {
  const detached = await home.run(['run', '--detach', 'the tree', ...playing('tree.yaml')], {
    cwd: home.folder,
  });
  const id = detached.stdout.trim();
  expect(id).toMatch(/^a\w{12}$/);
  expect(detached.code).toBe(0);
  const waited = await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '60']);
  expect(waited.status[id]).toEqual({
    completed: 'report of child one; report of child two; report of child three',
  });
  for (let tries = 0; home.pidsBesideCodec().length > 1 && tries < 200; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(home.pidsBesideCodec()).toHaveLength(1);
});

test('a one-shot root that answers while a child still runs hears of it in one more turn, with the client gone', async () => {
  const run = home.start(['run', 'answer early', ...playing('early-answer.yaml')], { cwd: home.folder });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  await run.says(/I answer early/);
  run.child.kill('SIGKILL');
  await run.ended;
  const waited = await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '90']);
  expect(waited.status[id]).toEqual({ completed: 'I heard of the child.' });
  const status = await home.json<AgentView>(['status', id]);
  expect(status).toMatchObject({ turn: 2, closed: true });
  const { items } = await home.json<{ items: { type: string; text?: string }[] }>(['items', id]);
  const notices = items.filter((item) => item.type === 'notice').map((item) => item.text);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(
    /^agent default \(a\w{12}\/default-1\) \[.+\] completed in \d+s: the slow child is done$/,
  );
});

test('attach follows a session that nobody works for, and works for it', async () => {
  const run = home.start(['run', 'the tree', ...playing('tree.yaml')], { cwd: home.folder });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  run.child.kill('SIGKILL');
  await run.ended;
  const attached = await home.run(['attach', id], { cwd: home.folder });
  expect(attached.stdout.trim()).toBe('report of child one; report of child two; report of child three');
  expect(attached.code).toBe(0);
});

test('the task may come from standard input, and the answer go to a file', async () => {
  const file = join(home.root, 'answer.txt');
  writeFileSync(join(home.folder, 'marker.txt'), 'x');
  const { code, stdout } = await home.run(['run', '-', '-o', file, ...playing('keys.yaml')], {
    cwd: home.folder,
    input: 'what do you see\n',
    env: { COLOR: 'gray' },
  });
  expect(code).toBe(0);
  expect(stdout).toBe('color=gray key=\n');
});
