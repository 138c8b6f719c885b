import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { processStart } from '../../server/process-identity.ts';
import { lockFreed, lockHolder, ProcessLock } from '../../server/process-lock.ts';
import { folderWith } from '../support/folders.ts';

const place = (): string => join(folderWith(), 'session.lock');

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid as number;
}

function holderFile(path: string, holder: object): void {
  writeFileSync(path, JSON.stringify({ host: hostname(), token: 't', start: 'x', ...holder }));
}
test('the second to ask does not get the lock, and gets it after the release', async () => {
  const path = place();
  const lock = await ProcessLock.acquire(path);
  expect(await lockHolder(path)).toMatchObject({ pid: process.pid });
  expect(await ProcessLock.acquire(path)).toBeUndefined();
  await lock?.release();
  expect(await lockHolder(path)).toBeUndefined();
  const again = await ProcessLock.acquire(path);
  expect(again).toBeDefined();
  await again?.release();
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

test('of many who ask at once for a dead one’s lock exactly one gets it', async () => {
  const path = place();
  holderFile(path, { pid: await deadPid() });
  const locks = await Promise.all(Array.from({ length: 20 }, () => ProcessLock.acquire(path)));
  const taken = locks.filter((lock) => lock !== undefined);
  // All may lose a race against one that then gave up; asking again settles it.
  if (taken.length === 0) taken.push((await ProcessLock.acquire(path)) as ProcessLock);
  expect(taken).toHaveLength(1);
  await taken[0]?.release();
  expect(existsSync(path)).toBe(false);
});

test('of many processes that change a file, each while it holds the lock, none loses what another has done', async () => {
  const file = join(folderWith(), 'count');
  writeFileSync(file, '0');
  const counting = fileURLToPath(new URL('./counting.ts', import.meta.url));
  const counted = Array.from({ length: 6 }, () =>
    promisify(execFile)(process.execPath, [counting, file, '80']),
  );
  await Promise.all(counted);
  expect(readFileSync(file, 'utf8')).toBe('960');
}, 120_000);

test('a pid that was given to another process does not hold the lock', async () => {
  const path = place();
  holderFile(path, { pid: process.pid, start: 'another start' });
  expect(await lockHolder(path)).toBeUndefined();
  const lock = await ProcessLock.acquire(path);
  expect(await lockHolder(path)).toMatchObject({ pid: process.pid, start: await processStart(process.pid) });
  await lock?.release();
});

test.each(['', '{', '[]', 'null', '{"pid": "1"}'])('a broken lock file (%j) is nobody’s', async (text) => {
  const path = place();
  writeFileSync(path, text);
  const lock = await ProcessLock.acquire(path);
  expect(lock).toBeDefined();
  await lock?.release();
});

test('a holder on another host counts while its file is touched', async () => {
  const path = place();
  holderFile(path, { pid: 1, host: 'elsewhere' });
  expect(await lockHolder(path)).toMatchObject({ host: 'elsewhere' });
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(path, longAgo, longAgo);
  expect(await lockHolder(path)).toBeUndefined();
});

test('a lock that was taken over is not removed by its former holder', async () => {
  const path = place();
  const lock = await ProcessLock.acquire(path);
  writeFileSync(path, 'somebody else');
  await lock?.release();
  expect(readFileSync(path, 'utf8')).toBe('somebody else');
});

test('a killed process frees its lock, also before its parent has asked for the exit code', async () => {
  const path = place();
  const source = new URL('../../server/process-lock.ts', import.meta.url).href;
  const code = `const { ProcessLock } = await import(${JSON.stringify(source)});
    await ProcessLock.acquire(${JSON.stringify(path)}); console.log('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  expect(await lockHolder(path)).toMatchObject({ pid: child.pid });
  const freed = lockFreed(path, 50, AbortSignal.timeout(20_000));
  child.kill('SIGKILL');
  expect(await freed).toBe(true);
});

test('a guard left by one who died while taking over blocks nobody for long', async () => {
  const path = place();
  holderFile(path, { pid: await deadPid() });
  writeFileSync(`${path}.takeover`, '');
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(`${path}.takeover`, longAgo, longAgo);
  expect(await ProcessLock.acquire(path)).toBeUndefined();
  const lock = await ProcessLock.acquire(path);
  expect(lock).toBeDefined();
  await lock?.release();
});

test('waiting for a lock ends with the signal', async () => {
  const path = place();
  const lock = await ProcessLock.acquire(path);
  expect(await lockFreed(path, 10, AbortSignal.timeout(100))).toBe(false);
  await lock?.release();
});

test('no process has the pid 0, a negative or a broken one', async () => {
  expect(await Promise.all([0, -1, 1.5, Number.NaN].map(processStart))).toEqual(Array(4).fill(undefined));
});
