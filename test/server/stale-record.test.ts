import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  ensureServer,
  processStart,
  type ServerRecord,
  serverStatus,
  stopServer,
} from '../../server/index.ts';
import { emptyHome, serverPids } from './homes.ts';

function leave(home: string, content: string | object): void {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(join(home, 'server.json'), text);
}

/** Somebody's process that must survive whatever is done here. */
async function bystander(): Promise<{ pid: number; lives: () => boolean }> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { pid: child.pid as number, lives: () => child.exitCode === null && child.signalCode === null };
}

async function deadPid(): Promise<number> {
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid as number;
}

/** A port on which somebody listens who is no Temporal server. */
async function foreignPort(): Promise<number> {
  const server = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const record = (port: number, of: { pid: number; started: string }): ServerRecord => ({
  address: `127.0.0.1:${port}`,
  ui: 'http://127.0.0.1:1',
  version: '1.32.0',
  ...of,
});

async function expectReplaced(home: string): Promise<ServerRecord> {
  expect(await serverStatus(home)).toBeUndefined();
  const fresh = await ensureServer({ home });
  expect(serverPids(home)).toEqual([fresh.pid]);
  expect(JSON.parse(readFileSync(join(home, 'server.json'), 'utf8'))).toEqual(fresh);
  return fresh;
}

test.each([
  ['empty', ''],
  ['half-written', '{"address": "127.0.0.1:72'],
  ['no record', '[1, 2]'],
  ['of impossible values', { address: 7, ui: null, pid: -1, version: '', started: '' }],
])('a record that is %s is replaced', async (_, content) => {
  const home = emptyHome();
  leave(home, content);
  expect(await stopServer(home)).toBe(false);
  await expectReplaced(home);
});

test('the record of a dead process is replaced, also when somebody else has its port by now', async () => {
  const home = emptyHome();
  const port = await foreignPort();
  leave(home, record(port, { pid: await deadPid(), started: 'then' }));
  const fresh = await expectReplaced(home);
  expect(fresh.address).not.toBe(`127.0.0.1:${port}`);
});

test('a process that got the pid of the server is neither taken for it nor ended', async () => {
  const home = emptyHome();
  const { pid, lives } = await bystander();
  leave(home, record(await foreignPort(), { pid, started: 'before this boot' }));
  expect(await stopServer(home)).toBe(false);
  await expectReplaced(home);
  expect(await stopServer(home)).toBe(true);
  expect(lives()).toBe(true);
});

test('a record that names a living process which is no Temporal server starts no second one beside it', async () => {
  const home = emptyHome();
  const { pid } = await bystander();
  const started = (await processStart(pid)) ?? '';
  leave(home, record(await foreignPort(), { pid, started }));
  await expect(ensureServer({ home, answerMs: 3_000 })).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringContaining(`process ${pid}`),
    hint: expect.stringContaining('cadre server stop'),
  });
  expect(serverPids(home)).toEqual([]);
});

test('a server that lost its record is found again', async () => {
  const home = emptyHome();
  const before = await ensureServer({ home });
  rmSync(join(home, 'server.json'));
  expect(await serverStatus(home)).toMatchObject({ pid: before.pid, address: before.address });
  expect(await ensureServer({ home })).toEqual(before);
  rmSync(join(home, 'server.json'));
  expect(await stopServer(home)).toBe(true);
  expect(serverPids(home)).toEqual([]);
});
