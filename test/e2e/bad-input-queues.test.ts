import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { CadreHome, playing, SCRIPTS } from './cadre-home.ts';
import { expectNoStack, fails, failureOf } from './failures.ts';

vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

const KEYS = playing('keys.yaml');

test('a session on a queue without a worker waits, and the command says for what; a worker that comes takes it up', async () => {
  const options = { cwd: home.folder, env: { COLOR: 'of the client' } };
  const running = home.start(['run', 'look', '--queue', 'mine', ...KEYS], options);
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/nobody works for the queue mine: .*cadre worker --queue mine/);

  const asked = await fails(home, ['status', id]);
  expect(asked).toMatchObject({ code: 69, error: { code: 'no_worker', retryable: true } });
  expect(asked.error.hint).toContain('cadre worker');
  const { agents } = await home.json<{ agents: AgentView[] }>(['ps']);
  expect(agents).toMatchObject([{ agent_id: id, queue: 'mine' }]);
  const detached = await home.run(['run', '--detach', 'look', '--queue', 'mine', ...KEYS], options);
  expect(detached).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('nobody works for the queue mine'),
  });

  const worker = home.start(['worker', '--queue', 'mine'], { env: { COLOR: 'of the worker' } });
  // The commands of a queued session have the environment of its worker.
  expect(await running.ended).toMatchObject({ code: 0, stdout: 'color=of the worker key=\n' });
  const second = detached.stdout.trim();
  const waited = await home.json<{ status: Record<string, unknown> }>(['wait', second, '--timeout', '60']);
  expect(waited.status[second]).toEqual({ completed: 'color=of the worker key=' });
  expect(await home.json<AgentView>(['status', id])).toMatchObject({ closed: true });

  worker.child.kill('SIGINT');
  const ended = await worker.ended;
  expectNoStack(ended);
  expect(ended.code).toBe(0);
});

test('Ctrl-C twice and --timeout leave a queued session to its workers, and start none here', async () => {
  const args = ['run', 'look', '--queue', 'empty', '--json', ...KEYS];
  const timed = failureOf(await home.run([...args, '--timeout', '1'], { cwd: home.folder }));
  expect(timed).toMatchObject({ code: 6, error: { code: 'timeout' } });
  const running = home.start(args, { cwd: home.folder });
  await running.says(/nobody works for the queue empty/);
  running.child.kill('SIGINT');
  await running.says(/Interrupting/);
  running.child.kill('SIGINT');
  const ended = await running.ended;
  expect(failureOf(ended)).toMatchObject({ code: 130, error: { code: 'interrupted' } });
  expect(ended.stderr).toContain('nobody works for its queue empty now');
  // The server alone.
  expect(home.pidsBesideCodec()).toHaveLength(1);
});

test('tools that cannot be loaded, and a module without any, end a worker with 2', async () => {
  for (const [file, message] of [
    ['no-such-file.mjs', /cannot be loaded/],
    [join(SCRIPTS, 'keys.yaml'), /cannot be loaded/],
    [new URL('./failures.ts', import.meta.url).pathname, /exports no tools|cannot be loaded/],
  ] as const) {
    const { code, error } = await fails(home, ['worker', '--queue', 'q', '--tools', file]);
    expect(code).toBe(2);
    expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
  }
});

test('a namespace that does not exist is wrong configuration', async () => {
  for (const args of [['ps'], ['setup'], ['run', 'hello', ...KEYS], ['worker', '--queue', 'q'], ['worker']]) {
    const { code, error } = await fails(home, [...args, '--namespace', 'nowhere']);
    expect(code).toBe(2);
    expect(error).toMatchObject({ code: 'config_invalid', hint: expect.stringContaining('--namespace') });
    expect(error.message).toContain('nowhere');
  }
});

test('doctor tells it, too', async () => {
  const ended = await home.run(['doctor', '--namespace', 'nowhere']);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/fail +server .*nowhere/);
});

test('a namespace without the search attributes of Cadre runs sessions, lists them, and is told to want a setup', async () => {
  const { address } = JSON.parse(readFileSync(join(home.home, 'server.json'), 'utf8'));
  const connection = await Connection.connect({ address });
  await connection.workflowService.registerNamespace({
    namespace: 'bare',
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  await connection.close();
  const bare = ['--namespace', 'bare'];
  // The server takes notice of a new namespace a moment later.
  await expect.poll(async () => (await home.run(['ps', ...bare])).code, { timeout: 60_000 }).toBe(0);
  expect((await home.run(['doctor', ...bare])).stdout).toMatch(/warn +search attributes .*CadreRole/);

  const run = await home.run(['run', 'look', ...bare, ...KEYS], { cwd: home.folder });
  expect(run).toMatchObject({ code: 0, stdout: 'color= key=\n' });
  const listed = await home.json<{ agents: AgentView[] }>(['ps', '--all', '--role', 'default', ...bare]);
  // How it has ended stands in an attribute: without it, that it has.
  expect(listed.agents).toMatchObject([{ role: 'default', status: 'shutdown' }]);

  expect((await home.run(['setup', ...bare])).stdout).toMatch(/registered .*CadreRole/);
  await expect
    .poll(async () => (await home.run(['doctor', ...bare])).stdout, { timeout: 60_000 })
    .toMatch(/ok +search attributes/);
});
