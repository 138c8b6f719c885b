import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { findProgram } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import { CadreHome, playing, SCRIPTS } from './cadre-home.ts';

const run = promisify(execFile);
const home = new CadreHome();
let temporal = '';

beforeAll(async () => {
  mkdirSync(home.folder, { recursive: true });
  temporal = (await findProgram({ cacheDir: cacheDir() })).path;
});
afterAll(() => home.remove());

async function workflow(...args: string[]): Promise<string> {
  const { address } = JSON.parse(readFileSync(join(home.home, 'server.json'), 'utf8'));
  return (await run(temporal, ['workflow', ...args, '--address', address])).stdout;
}

async function query<T>(id: string, type: string): Promise<T> {
  const stdout = await workflow('query', '-w', id, '--type', type, '-o', 'json');
  return JSON.parse(stdout).queryResult[0];
}

test("Temporal's own CLI sends input, interrupts, and asks for status and tree", async () => {
  const script = `model_providers.script.script="${join(SCRIPTS, 'interrupt.yaml')}"`;
  const args = ['run', 'sleep', '-c', 'model_provider=script', '-c', script];
  const running = home.start(args, { cwd: home.folder });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/shell · /);

  const status = await query<{ status: string; waiting_for: string }>(id, 'status');
  expect(status).toMatchObject({ agent_id: id, status: 'running', waiting_for: 'tool' });
  const tree = await query<{ agents: { agent_id: string }[] }>(id, 'tree');
  expect(tree.agents.map((agent) => agent.agent_id)).toEqual([id]);

  // Without any argument, as people do.
  await workflow('signal', '-w', id, '--name', 'interrupt');
  await running.says(/interrupted/, 20_000);
  expect(await query(id, 'status')).toMatchObject({ status: 'interrupted' });

  await workflow('signal', '-w', id, '--name', 'send_input', '--input', '"a bare string"');
  const { stdout, code } = await running.ended;
  expect(stdout.trim()).toBe('after the interrupt: a bare string');
  expect(code).toBe(0);
});

test("a session whose root was terminated by Temporal's own CLI comes back whole, each agent once", async () => {
  const options = playing('left-alone.yaml');
  const running = home.start(['run', 'the task', ...options], { cwd: home.folder });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/default-1: shell · /);
  await workflow('terminate', '-w', id, '--reason', 'by a person');
  expect((await running.ended).code).toBe(1);
  const child = `${id}/default-1`;
  const back = await home.json<{ resumed: string[] }>(['resume', id, '--recursive']);
  expect(back).toMatchObject({ resumed: [id, child], not_resumed: [] });
  const { agents } = await home.json<{ agents: AgentView[] }>(['tree', id]);
  // The child may have come to an end of its turn while its worker stopped.
  expect(agents.map(({ agent_id, closed, is_final }) => [agent_id, closed, is_final])).toEqual([
    [id, false, true],
    [child, false, true],
  ]);
  await home.run(['send', child, 'hello', ...options]);
  const waited = await home.run(['wait', child, '--timeout', '60', ...options]);
  expect(waited).toMatchObject({ code: 0, stdout: 'the child heard hello\n' });
  await home.run(['close', id]);
}, 150_000);

/** A root whose child runs a command of ten minutes, served in the background. */
async function leftAlone(): Promise<{ id: string; child: string }> {
  const { stdout } = await home.run(['run', 'the task', '--detach', ...playing('left-alone.yaml')]);
  const id = stdout.trim();
  const child = `${id}/default-1`;
  const works = async () => {
    const { stdout } = await home.run(['status', child, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ waiting_for: 'tool' });
  };
  await vi.waitFor(works, { timeout: 60_000, interval: 500 });
  return { id, child };
}

test('closing a session whose root was terminated closes what the root has left, and says so', async () => {
  const { id, child } = await leftAlone();
  await workflow('terminate', '-w', id, '--reason', 'by a person');
  const orphans = await home.run(['ps', '--orphans']);
  expect(orphans.stdout).toMatch(new RegExp(`^${child} `, 'm'));
  const closed = await home.json<{ status: string; closed: string[] }>(['close', id]);
  expect(closed).toMatchObject({ status: 'errored', closed: [child] });
  expect((await home.run(['ps', '--orphans'])).stdout).not.toContain(child);
}, 120_000);

test('what a terminated root has left is closed by itself within five minutes, then its worker ends', async () => {
  const { id, child } = await leftAlone();
  const pids = home.pids();
  await workflow('terminate', '-w', id, '--reason', 'by a person');
  const closed = async () => {
    const { agents } = await home.json<{ agents: AgentView[] }>(['ps', '--all']);
    expect(agents.find((agent) => agent.agent_id === child)).toMatchObject({ closed: true });
    expect(home.pids().length).toBeLessThan(pids.length);
  };
  await vi.waitFor(closed, { timeout: 300_000, interval: 2_000 });
}, 400_000);
