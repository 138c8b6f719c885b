import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentSummary } from '../../client/index.ts';
import type { AgentView, ItemsPage } from '../../protocol/index.ts';
import { workflowBundle } from '../workflows/test-bundle.ts';
import { CadreHome, playing, type Running } from './cadre-home.ts';
import { fails } from './failures.ts';

vi.setConfig({ testTimeout: 400_000 });

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const home = new CadreHome();
/** A Cadre whose workflow code asks for a timer that no history of the one that was built knows. */
const changed = mkdtempSync(join(tmpdir(), 'cadre-changed-'));
const CHANGED = { main: join(changed, 'dist', 'cli', 'main.js') };
/** Of every one of these a person gets the answer, or why there is none, within half a minute. */
const BOUND_MS = 30_000;

beforeAll(async () => {
  cpSync(join(REPOSITORY, 'dist'), join(changed, 'dist'), { recursive: true });
  cpSync(join(REPOSITORY, 'package.json'), join(changed, 'package.json'));
  symlinkSync(join(REPOSITORY, 'node_modules'), join(changed, 'node_modules'));
  const { codePath } = await workflowBundle('change-unpatched.ts');
  cpSync(codePath, join(changed, 'dist', 'workflow-bundle.js'));
});
afterAll(async () => {
  await home.remove();
  rmSync(changed, { recursive: true, force: true });
});

/** A session on a queue that is at work until there is a file named "stop" in its folder. */
async function begin(queue: string): Promise<{ id: string; folder: string }> {
  const folder = home.newFolder('session');
  const args = ['run', '--detach', 'listen', '--queue', queue, ...playing('listen-again.yaml')];
  const { stdout } = await home.run(args, { cwd: folder });
  const id = stdout.trim();
  const isAtWork = async () => (await home.json<AgentView>(['status', id])).current_tool;
  await expect.poll(isAtWork, { timeout: 60_000, interval: 500 }).toMatch(/shell/);
  return { id, folder };
}

async function worker(queue: string, options: { main?: string } = {}): Promise<Running> {
  const running = home.start(['worker', '--queue', queue], options);
  await running.says(new RegExp(`Working for the queue ${queue}`));
  return running;
}

async function stopped({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
}

/** As a program does that knows nothing of agents: the server takes it, whoever works. */
async function signal(id: string, message: string): Promise<void> {
  const { address } = JSON.parse(readFileSync(join(home.home, 'server.json'), 'utf8'));
  const connection = await Connection.connect({ address });
  await new Client({ connection }).workflow.getHandle(id).signal('send_input', { message });
  await connection.close();
}

async function saysOtherVersion(command: string, id: string, ...options: string[]): Promise<void> {
  const begun = Date.now();
  const { code, error } = await fails(home, [command, id, ...options]);
  expect({ command, exit: code, ...error }).toMatchObject({
    command,
    exit: 69,
    code: 'no_worker',
    retryable: true,
  });
  expect(error.message).toContain(id);
  expect(error.message).toMatch(/of another version.*cannot replay.*TMPRL1100/);
  expect(error.hint).toMatch(/worker of the version that it was begun with.*production\.md/);
  expect(Date.now() - begun, command).toBeLessThan(BOUND_MS);
}

test('an agent that the code of its worker cannot replay: every command says so, with the way back; when that code is back, it goes on with all it was sent', async () => {
  const old = await worker('mixed');
  const { id, folder } = await begin('mixed');
  await stopped(old);
  const other = await worker('mixed', CHANGED);
  await signal(id, 'sent meanwhile');

  // Until the worker has failed once there is nothing to tell.
  await other.says(/TMPRL1100/);
  for (const command of ['status', 'tree', 'items', 'interrupt', 'close', 'resume'])
    await saysOtherVersion(command, id);
  await saysOtherVersion('send', id, 'refused');
  await saysOtherVersion('wait', id, '--timeout', '100');
  const attached = home.start(['attach', id]);
  const [line = ''] = await attached.says(/stands still.*\n?.*/);
  expect(line).toMatch(/TMPRL1100.*production\.md/);
  // The server notes it after a few failures in a row.
  const listed = async () => (await home.json<{ agents: AgentSummary[] }>(['ps'])).agents[0]?.problem;
  await expect.poll(listed, { timeout: 120_000, interval: 2_000 }).toBe('NonDeterministicError');
  expect((await home.run(['ps'])).stdout).toMatch(/running \(stands still: NonDeterministicError\)/);

  await stopped(other);
  const back = await worker('mixed');
  writeFileSync(join(folder, 'stop'), '');
  expect(await attached.ended).toMatchObject({ code: 0, stdout: 'the last I heard: sent meanwhile\n' });
  const { items } = await home.json<ItemsPage>(['items', id]);
  const heard = items.flatMap((item) => (item.type === 'user_message' ? item.content : []));
  expect(heard.map((part) => (part.type === 'text' ? part.text : ''))).toEqual(['listen', 'sent meanwhile']);
  const after = (await home.json<{ agents: AgentSummary[] }>(['ps', '--all'])).agents;
  expect(after.find((each) => each.agent_id === id)).not.toHaveProperty('problem');
  await stopped(back);
});

test('a closed agent that the code of its worker cannot replay is told as such, and answers when that code is back', async () => {
  const old = await worker('closed');
  const { id } = await begin('closed');
  expect(await home.json(['close', id])).toMatchObject({ closed: [id] });
  await stopped(old);
  const other = await worker('closed', CHANGED);
  for (const command of ['status', 'tree', 'items', 'resume']) await saysOtherVersion(command, id);
  await stopped(other);
  const back = await worker('closed');
  expect(await home.json<AgentView>(['status', id])).toMatchObject({ closed: true, status: 'shutdown' });
  await stopped(back);
});

test('a closed session that the code of its worker cannot replay comes back from its rollout, and goes on with that code', async () => {
  const folder = home.newFolder('left');
  const begun = await home.json<{ session_id: string }>(['run', 'begin', ...playing('other-version.yaml')], {
    cwd: folder,
  });
  const { session_id: id } = begun;
  const before = await home.run(['export', id]);
  const body = (text: string): string => text.slice(text.indexOf('\n'));
  const other = home.start(['worker'], CHANGED);
  await other.says(/local sessions/);

  const exported = await home.run(['export', id], CHANGED);
  expect(exported).toMatchObject({ code: 0, stderr: '' });
  expect(body(exported.stdout)).toBe(body(before.stdout));
  expect(await home.json(['fork', id, 'and now?'], CHANGED)).toMatchObject({ context_mode: 'forked' });
  expect(await home.json(['resume', id, '--recursive'], CHANGED)).toMatchObject({
    resumed: [id, `${id}/default-1`],
    not_resumed: [],
  });
  await home.json(['send', id, 'go on'], CHANGED);
  expect(await home.json(['wait', id], CHANGED)).toMatchObject({
    status: { [id]: { completed: 'the last I heard: go on' } },
  });
  const { items } = await home.json<ItemsPage>(['items', id], CHANGED);
  expect(items.filter((item) => item.type === 'user_message')).toHaveLength(2);
  await stopped(other);
});
