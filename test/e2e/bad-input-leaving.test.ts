import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { CadreHome, playing, type Running } from './cadre-home.ts';
import { expectNoStack, failureOf } from './failures.ts';

/** Two processes a test, several tests at a time, and other work beside them. */
vi.setConfig({ testTimeout: 180_000 });

const home = new CadreHome();
beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

interface Session {
  id: string;
  cwd: string;
  running: Running;
  /** Lets its command end. */
  stop(): void;
}

const LISTEN = playing('listen.yaml');

async function listening(name: string, ...args: string[]): Promise<Session> {
  const cwd = home.newFolder(name);
  const running = home.start(['run', 'listen', ...LISTEN, ...args], { cwd });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/shell · |"tool.begin"/);
  return { id, cwd, running, stop: () => writeFileSync(join(cwd, 'stop'), '') };
}

const statusOf = (id: string) => home.json<AgentView>(['status', id]);

async function waited(id: string): Promise<unknown> {
  return (await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '60'])).status[id];
}

test.concurrent('Ctrl-C once interrupts the turn, and run goes on following until there is an answer', async () => {
  const { id, running } = await listening('once');
  running.child.kill('SIGINT');
  await running.says(/: interrupted/);
  expect(running.stderr()).toContain('Ctrl-C again leaves the session running');
  expect(await statusOf(id)).toMatchObject({ status: 'interrupted', closed: false });
  expect((await home.run(['send', id, 'and now?'])).code).toBe(0);
  const ended = await running.ended;
  expectNoStack(ended);
  expect(ended).toMatchObject({ code: 0, stdout: 'the last I heard: and now?\n' });
});

test.concurrent('a session that is closed before it has an answer ends run with 1', async () => {
  const { id, running } = await listening('closed', '--json');
  running.child.kill('SIGINT');
  await running.says(/: interrupted/);
  expect((await home.run(['close', id])).code).toBe(0);
  const failed = failureOf(await running.ended);
  expect(failed).toMatchObject({
    code: 1,
    error: { code: 'agent_closed' },
    printed: { status: 'shutdown', session_id: id },
  });
});

test.concurrent('Ctrl-C twice leaves the session running, with a worker in the background, and ends with 130', async () => {
  const { id, running, stop } = await listening('twice');
  running.child.kill('SIGINT');
  await running.says(/: interrupted/);
  running.child.kill('SIGINT');
  const ended = await running.ended;
  expectNoStack(ended);
  expect(ended).toMatchObject({ code: 130, stdout: '' });
  expect(ended.stderr).toContain(`cadre attach ${id}`);
  stop();
  // The worker in the background acts on it, not a command.
  expect((await home.run(['send', id, 'still there?'])).code).toBe(0);
  for (const end = Date.now() + 30_000; !(await statusOf(id)).closed && Date.now() < end; ) await sleep(200);
  expect(await statusOf(id)).toMatchObject({ closed: true, message: 'the last I heard: still there?' });
});

test.concurrent('--timeout leaves the session running and ends with 6', async () => {
  const cwd = home.newFolder('timeout');
  const running = home.start(['run', 'listen', ...playing('listen-again.yaml'), '--timeout', '3', '--json'], {
    cwd,
  });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  const failed = failureOf(await running.ended);
  expect(failed).toMatchObject({ code: 6, error: { code: 'timeout' }, printed: { session_id: id } });
  expect(failed.error.hint).toContain(`cadre attach ${id}`);
  // Three seconds may be over before its first turn has begun.
  await expect
    .poll(() => statusOf(id), { timeout: 60_000, interval: 500 })
    .toMatchObject({ status: 'running', closed: false });
  writeFileSync(join(cwd, 'stop'), '');
  expect(await waited(id)).toEqual({ completed: 'the last I heard: listen' });
});

/** The worker in the background acts on it, not a command. */
async function endsByItself({ id, stop }: Session): Promise<void> {
  stop();
  for (const end = Date.now() + 60_000; !(await statusOf(id)).closed && Date.now() < end; ) await sleep(200);
  expect(await statusOf(id)).toMatchObject({ closed: true, status: 'completed' });
}

test.concurrent('a terminal that goes away leaves the session to a worker in the background', async () => {
  const session = await listening('hung-up');
  session.running.child.kill('SIGHUP');
  expect(await session.running.ended).toMatchObject({ code: 130 });
  await endsByItself(session);
});

test.concurrent('a reader that has seen enough leaves the session to a worker in the background, with 141', async () => {
  const session = await listening('unread', '--jsonl');
  session.running.child.stdout?.destroy();
  // What is told next, that this has come, finds the pipe closed; the agent's command goes on all the while.
  await home.run(['send', session.id, 'say something']);
  const { code, stderr } = await session.running.ended;
  expect(code).toBe(141);
  expect(stderr).toContain(`cadre attach ${session.id}`);
  await home.run(['send', session.id, 'go on']);
  await endsByItself(session);
});

test.concurrent('SIGTERM ends run soon; the session is there for the next command', async () => {
  const { id, running, stop } = await listening('quit', '--jsonl');
  running.child.kill('SIGTERM');
  const ended = await running.ended;
  expect(failureOf(ended)).toMatchObject({
    code: 130,
    error: { code: 'interrupted', message: expect.stringContaining('nobody works for it now') },
    printed: { session_id: id },
  });
  expect(ended.stderr).toContain(`Come back with: cadre attach ${id}`);
  for (const line of ended.stdout.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  stop();
  expect(await waited(id)).toEqual({ completed: expect.stringContaining('the last I heard: listen') });
});

test.concurrent('wait: Ctrl-C ends it with 130, its time with 6; what it waited for goes on', async () => {
  const { id, running, stop } = await listening('wait');
  const waiting = home.start(['wait', id, '--json', '-v']);
  await waiting.says(/waiting for/);
  waiting.child.kill('SIGINT');
  expect(failureOf(await waiting.ended)).toMatchObject({ code: 130, error: { code: 'interrupted' } });
  const timed = await home.run(['wait', id, '--timeout', '1', '--json']);
  expect(timed).toMatchObject({ code: 6, stdout: '{"status":{},"timed_out":true}\n' });
  stop();
  expect(await running.ended).toMatchObject({ code: 0 });
});

test.concurrent('events -f: Ctrl-C ends it', async () => {
  const { id, running, stop } = await listening('events');
  const following = home.start(['events', id, '-f', '--jsonl']);
  await following.says(/tool.begin/);
  following.child.kill('SIGINT');
  const ended = await following.ended;
  expectNoStack(ended);
  expect(ended.code).toBe(130);
  stop();
  expect(await running.ended).toMatchObject({ code: 0 });
});

test.concurrent('steps that are used up end run with 6, and what was handed back is told', async () => {
  const cwd = home.newFolder('steps');
  const ended = await home.run(['run', 'go on', '--max-steps', '2', '--json', ...playing('endless.yaml')], {
    cwd,
  });
  const failed = failureOf(ended);
  expect(failed).toMatchObject({ code: 6, error: { code: 'limit_steps' }, printed: { status: 'errored' } });
  expect(failed.error.message).toMatch(/2 steps.*this is what I have/s);
});
