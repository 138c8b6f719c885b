import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { ensureServer, serverStatus, stopServer } from '../../server/index.ts';
import { emptyHome, serverPids } from './homes.ts';

const unwritable = (home: string, reason: string | RegExp) => ({
  code: 'home_unwritable',
  message: expect.stringMatching(new RegExp(`CADRE_HOME cannot be written: ${home}.*${String(reason)}`)),
  hint: expect.stringContaining('CADRE_HOME'),
});

/** A file system of its own, mounted for one test; skips it where that is not allowed. */
function mounted(context: TestContext, ...options: string[]): string {
  const home = join(emptyHome(), 'mounted');
  mkdirSync(home);
  try {
    execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', home], { stdio: 'pipe' });
  } catch (error) {
    context.skip(`no file system can be mounted here: ${error instanceof Error ? error.message : error}`);
  }
  onTestFinished(() => void execFileSync('umount', ['-l', home], { stdio: 'pipe' }));
  return home;
}

test('a file where CADRE_HOME should be', async () => {
  const home = join(emptyHome(), 'file');
  writeFileSync(home, '');
  await expect(ensureServer({ home })).rejects.toMatchObject(unwritable(home, 'not a folder'));
  await expect(ensureServer({ home: join(home, 'deeper') })).rejects.toMatchObject({
    code: 'home_unwritable',
  });
  expect(await serverStatus(home)).toBeUndefined();
  expect(await stopServer(home)).toBe(false);
});

test('a folder where the log should be', async () => {
  const home = emptyHome();
  mkdirSync(join(home, 'server.log'));
  await expect(ensureServer({ home })).rejects.toMatchObject({ code: 'home_unwritable' });
});

test('a folder where the record should be', async () => {
  const home = emptyHome();
  mkdirSync(join(home, 'server.json'));
  await expect(ensureServer({ home })).rejects.toMatchObject({
    code: 'home_unwritable',
    message: expect.stringContaining(`${join(home, 'server.json')} is a folder`),
    hint: expect.stringContaining('Move it away'),
  });
});

test('a folder without the right to write', async (context) => {
  if (process.getuid?.() === 0) context.skip('root may write everywhere');
  const home = emptyHome();
  chmodSync(home, 0o500);
  await expect(ensureServer({ home })).rejects.toMatchObject(unwritable(home, 'permission denied'));
});

test('a read-only file system; a server that runs there is used all the same', async (context) => {
  const home = mounted(context, '-o', 'size=100m');
  const record = await ensureServer({ home });
  execFileSync('mount', ['--bind', home, home], { stdio: 'pipe' });
  onTestFinished(() => void execFileSync('umount', ['-l', home], { stdio: 'pipe' }));
  execFileSync('mount', ['-o', 'remount,bind,ro', home], { stdio: 'pipe' });
  expect(await ensureServer({ home })).toEqual(record);
  expect(await stopServer(home)).toBe(true);
  await expect(ensureServer({ home })).rejects.toMatchObject(unwritable(home, 'read-only'));
});

test('a full disk from the start', async (context) => {
  const home = mounted(context, '-o', 'size=1m');
  writeFileSync(join(home, 'ballast'), Buffer.alloc(1024 * 1024 - 4096 * 2));
  await expect(ensureServer({ home })).rejects.toMatchObject(unwritable(home, 'the disk is full'));
  expect(readdirSync(home).filter((name) => name.startsWith('server.lock'))).toEqual([]);
  expect(serverPids(home)).toEqual([]);
});

test('a disk on which the database finds no room', async (context) => {
  const home = mounted(context, '-o', 'size=600k');
  await expect(ensureServer({ home })).rejects.toMatchObject(unwritable(home, 'the disk is full'));
  expect(serverPids(home)).toEqual([]);
});

test('a database that is none', async () => {
  const home = emptyHome();
  writeFileSync(
    join(home, 'temporal.db'),
    'this is not a database, and it is longer than a header of SQLite\n'.repeat(99),
  );
  const failed = ensureServer({ home });
  await expect(failed).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringMatching(/did not start: it ended with 1\. Its log ends:\n.*not a database/s),
    hint: expect.stringContaining(join(home, 'server.log')),
  });
  expect(serverPids(home)).toEqual([]);
});
