import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { CadreHome, playing, type Running } from './cadre-home.ts';

vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
afterAll(() => home.remove());

/** Until an agent is what it shall be; a query that meets a worker on its way out is asked again. */
async function until(id: string, is: (view: AgentView) => boolean): Promise<AgentView> {
  for (const end = Date.now() + 90_000; ; await sleep(100)) {
    const { stdout, code } = await home.run(['status', id, '--json']);
    if (code === 0 && is(JSON.parse(stdout))) return JSON.parse(stdout);
    if (Date.now() > end) throw new Error(`${id} is not what it shall be: ${stdout}`);
  }
}

function worker(queue: string, name: string, grace: string): Running {
  return home.start(['worker', '--queue', queue, '--grace', grace], { env: { WORKER: name } });
}

async function begun(queue: string, task: string): Promise<{ id: string; log: string }> {
  const cwd = home.newFolder(task);
  const { stdout, stderr } = await home.run(
    ['run', task, '--detach', '--queue', queue, ...playing('drain.yaml')],
    { cwd },
  );
  expect(stdout, stderr).toMatch(/^a\w{12}\n$/);
  return { id: stdout.trim(), log: join(cwd, 'effects.log') };
}

async function answerOf(id: string): Promise<unknown> {
  const { status } = await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '90']);
  return status[id];
}

test('SIGTERM lets a command end that ends within the grace; the session goes on with another worker', async () => {
  const first = worker('short', 'first', '30');
  await first.says(/Working for the queue/);
  const { id, log } = await begun('short', 'short');
  for (let tries = 0; !existsSync(log) && tries < 600; tries++) await sleep(50);
  first.child.kill('SIGTERM');
  await first.says(/Stopping: what runs gets 30 s/);
  const second = worker('short', 'second', '30');
  expect((await first.ended).code).toBe(0);
  expect(await answerOf(id)).toEqual({ completed: 'done' });
  expect(readFileSync(log, 'utf8')).toBe('first\n');
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});

test('a command that does not end within the grace is ended, and the model is told at once that its outcome is unknown', async () => {
  const first = worker('long', 'first', '2');
  const { id, log } = await begun('long', 'long');
  for (let tries = 0; !existsSync(log) && tries < 600; tries++) await sleep(50);
  const second = worker('long', 'second', '2');
  await second.says(/Working for the queue/);
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
  // Told by the worker itself; one that has died is only missed after 15 s.
  const told =
    /^outcome_unknown: It is unknown whether shell \(.+\) had its effect: its worker was shut down\.$/;
  expect(await answerOf(id)).toEqual({ completed: expect.stringMatching(told) });
  expect(readFileSync(log, 'utf8')).toBe('first\n');
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});

test('a model call that does not end within the grace is made again by another worker', async () => {
  const first = worker('thinking', 'first', '1');
  const { id } = await begun('thinking', 'thinking');
  await until(id, (view) => view.waiting_for === 'model');
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
  const second = worker('thinking', 'second', '1');
  expect(await answerOf(id)).toEqual({ completed: 'thought through' });
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
});
