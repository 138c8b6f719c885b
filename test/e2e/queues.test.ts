import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import type { AgentView } from '../../protocol/index.ts';
import { ensureServer } from '../../server/index.ts';
import { startModelServer } from '../support/model-server.ts';
import { CadreHome, playing, type Running } from './cadre-home.ts';
import { fails } from './failures.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
afterAll(() => home.remove());

const HOSTS = playing('hosts.yaml');

/** A worker of the queue on what passes for a host of its own: its commands see its name. */
async function workerOn(host: string): Promise<Running> {
  const running = home.start(['worker', '--queue', 'team', '--host', host], { env: { WORKER: host } });
  await running.says(new RegExp(`Working for the queues team, team@${host} `));
  return running;
}

async function drained(...workers: Running[]): Promise<void> {
  for (const { child } of workers) child.kill('SIGTERM');
  for (const { ended } of workers) expect((await ended).code).toBe(0);
}

const linesOf = (log: string): string[] => {
  try {
    return readFileSync(log, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

/** A session that is under way. */
async function begun(task: string, options: string[]): Promise<{ id: string; log: string }> {
  const cwd = home.newFolder(task);
  const { stdout, stderr } = await home.run(['run', task, '--detach', ...options], { cwd });
  expect(stdout, stderr).toMatch(/^a\w{12}\n$/);
  return { id: stdout.trim(), log: join(cwd, 'effects.log') };
}

async function outcomeOf(id: string): Promise<unknown> {
  const { status } = await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '120']);
  return status[id];
}

test('a session with --host lives on that host whole: it stands still without its worker, whatever others do, and goes on when that is back', async () => {
  const [one, two] = [await workerOn('one'), await workerOn('two')];
  const { id, log } = await begun('session', ['--queue', 'team', '--host', 'one', ...HOSTS]);
  await expect.poll(() => linesOf(log), { timeout: 60_000 }).toEqual(['first one', 'child one', 'long one']);
  one.child.kill('SIGKILL');
  await one.ended;
  // Longer than it takes to miss a worker.
  await sleep(20_000);
  expect(linesOf(log)).toHaveLength(3);
  const { agents } = await home.json<{ agents: (AgentView & { queue: string })[] }>(['ps']);
  expect(agents.map(({ queue }) => queue)).toEqual(['team@one', 'team@one']);

  const back = await workerOn('one');
  expect(await outcomeOf(id)).toEqual({ completed: 'outcome_unknown' });
  expect(linesOf(log)).toEqual(['first one', 'child one', 'long one', 'last one']);
  await drained(two, back);
});

test('commands find a session on its host: it is asked, closed, brought back, forked, exported and removed', async () => {
  const workers = [await workerOn('one'), await workerOn('two')];
  const cwd = home.newFolder('short');
  const options = ['--queue', 'team', '--host', 'two', ...HOSTS];
  const { session_id: id, output } = await home.json<{ session_id: string; output: string }>(
    ['run', 'short', ...options],
    { cwd },
  );
  expect(output).toBe('two');
  expect(await home.json(['resume', id])).toMatchObject({ resumed: [id] });
  const called = await home.json(['call', 'list_dir', '{"path": "."}', '--agent', id]);
  expect(called).toMatchObject({ success: true });
  const forked = await home.json<{ agent_id: string }>(['fork', id]);
  const attached = home.start(['attach', id, '--json']);
  await home.json(['send', id, 'more']);
  expect(JSON.parse((await attached.ended).stdout)).toMatchObject({ session_id: id, output: 'two again' });
  const file = join(cwd, 'rollout.jsonl');
  expect(await home.json(['export', id, '-o', file])).toMatchObject({ agents: 1 });
  expect(readFileSync(file, 'utf8').split('\n')[0]).toContain('"team@two"');
  expect(await home.json(['rm', id])).toMatchObject({ removed: [id] });
  const { agents } = await home.json<{ agents: (AgentView & { queue: string })[] }>(['ps']);
  expect(agents).toMatchObject([{ agent_id: forked.agent_id, queue: 'team@two' }]);
  await home.json(['close', forked.agent_id]);
  await drained(...workers);
});

test('what nobody serves, a host or the model calls of a session, is said with the worker that it waits for', async () => {
  const cwd = home.newFolder('unserved');
  const far = home.start(
    ['run', 'short', '--queue', 'other', '--host', 'far', '-C', '/on/that/host', ...HOSTS],
    { cwd },
  );
  await far.says(/nobody works for the queue other@far: .*`cadre worker --queue other --host far` does/);
  far.child.kill('SIGTERM');
  await far.ended;

  const worker = home.start(['worker', '--queue', 'calm', '--host'], { env: { WORKER: 'calm' } });
  await worker.says(/Working for the queues calm, calm@\S+ at/);
  const calm = ['--queue', 'calm', '-c', 'temporal.model_queue=true', ...HOSTS];
  const unserved =
    /nobody makes the model calls of calm\.models\/script: .*`cadre worker --queue calm --models script`/;
  const followed = home.start(['run', 'short', ...calm], { cwd });
  const [, id = ''] = await followed.says(/session (a\w{12})/);
  await followed.says(unserved);
  await expect
    .poll(async () => (await home.run(['status', id])).stderr, { timeout: 60_000 })
    .toMatch(unserved);

  const models = home.start(['worker', '--queue', 'calm', '--models', 'script', '--no-agents']);
  expect(await followed.ended).toMatchObject({ code: 0, stdout: 'calm\n' });
  expect(models.stderr()).not.toMatch(/warning/);
  await drained(worker, models);
});

test('a host needs a queue, and a name that is one', async () => {
  for (const args of [
    ['run', 'x', '--host', 'one'],
    ['run', 'x', '--queue', 'team@one', '--host', 'two'],
    ['run', 'x', '--queue', 'team', '--host', 'no name'],
    ['worker', '--host'],
    ['worker', '--queue', 'team', '--rate', '5'],
    ['worker', '--queue', 'team', '--models', 'script', '--rate', '0'],
  ]) {
    const { code, error } = await fails(home, args);
    expect(code, args.join(' ')).toBe(2);
    expect(error.hint ?? error.message, args.join(' ')).toMatch(/\S/);
  }
});

const SESSIONS = 10;
const CALLS = 2;
/** Calls a second. */
const RATE = 1;
/** So many may come at once: the server lets some pass before it slows down. */
const BURST = 10;

test('a rate holds for all calls of a model, by however many workers and sessions', async () => {
  const times: number[] = [];
  const server = await startModelServer(({ answers }) => {
    times.push(Date.now());
    if (answers === CALLS - 1) return { text: 'done' };
    return { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
  });
  const { address } = await ensureServer({ home: home.home });
  const client = await CadreClient.connect({ address });
  const agents = home.start(['worker', '--queue', 'slow']);
  const settings = { model: 'test-model', provider: 'local', working_directory: home.newFolder('slow') };
  const session = { model_providers: { local: { base_url: server.url } } };
  const start = () =>
    client.start({ task: 'look', queue: 'slow', settings: { ...settings, model_queue: true }, session });
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, start));
  // All of them are about to ask when their model is to be had.
  for (const each of sessions)
    await expect.poll(async () => (await each.status()).waiting_for, { timeout: 60_000 }).toBe('model');
  const calls = ['worker', '--queue', 'slow', '--models', 'local', '--rate', `${RATE}`, '--no-agents'];
  const models = [home.start(calls), home.start(calls)];
  for (const each of sessions) expect(await each.wait()).toMatchObject({ message: 'done' });
  await drained(agents, ...models);
  await client.close();
  await server.close();

  expect(times).toHaveLength(SESSIONS * CALLS);
  // Without a rate it takes a second or two.
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
  expect(seconds).toBeGreaterThan((SESSIONS * CALLS - BURST) / RATE - 1);
});
