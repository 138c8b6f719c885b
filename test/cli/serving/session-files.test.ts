import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SessionFiles } from '../../../cli/serving/session-files.ts';
import type { SessionId } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';

const id = 'a0k3v9x2m4qd7' as SessionId;
const record = {
  session_id: id,
  queue: `cadre-local/${id}`,
  cwd: '/work',
  started_at: '2026-01-01T00:00:00Z',
};

test('a record is read as it was written', async () => {
  const files = new SessionFiles(folderWith());
  expect(await files.read(id)).toBeUndefined();
  expect(await files.all()).toEqual([]);
  await files.write({ ...record, address: 'h:1', namespace: 'n' });
  expect(await files.read(id)).toEqual({ ...record, address: 'h:1', namespace: 'n' });
  expect(await files.all()).toHaveLength(1);
  await files.remove(id);
  expect(await files.all()).toEqual([]);
});

test.each(['', '{', 'null', '{"session_id": "a0000000000000"}'])(
  'a broken record (%j) counts as none',
  async (text) => {
    const home = folderWith({ [`sessions/${id}.json`]: text });
    const files = new SessionFiles(home);
    expect(await files.read(id)).toBeUndefined();
    expect(await files.all()).toEqual([]);
  },
);

test('locks and half-written records are no sessions', async () => {
  const files = new SessionFiles(folderWith());
  await files.write(record);
  writeFileSync(files.lockPath(id), '{}');
  writeFileSync(join(files.lockPath(id), '..', `${id}.json.new`), '{');
  expect((await files.all()).map((one) => one.session_id)).toEqual([id]);
});

/** A session whose files nobody has touched for two months. */
async function oldSession() {
  const home = folderWith();
  const files = new SessionFiles(home);
  await files.write(record);
  writeFileSync(files.logPath(id), 'log');
  writeFileSync(files.lockPath(id), '{}');
  const path = join(home, 'sessions', `${id}.json`);
  const old = new Date(Date.now() - 61 * 24 * 3_600_000);
  for (const file of [path, files.logPath(id), files.lockPath(id)]) utimesSync(file, old, old);
  return { files, path };
}
const forgotten = async () => true;
const stillThere = async () => false;

test('what the server has forgotten is removed once it is old: record, log and lock', async () => {
  const { files, path } = await oldSession();
  await files.prune(forgotten);
  for (const file of [path, files.logPath(id), files.lockPath(id)]) expect(existsSync(file)).toBe(false);
});

test('of a session that is still there nothing is removed, however old, and it is asked for once in two months', async () => {
  const { files, path } = await oldSession();
  let asked = 0;
  const ask = async () => {
    asked++;
    return false;
  };
  await files.prune(ask);
  await files.prune(ask);
  expect(asked).toBe(1);
  for (const file of [path, files.logPath(id), files.lockPath(id)]) expect(existsSync(file)).toBe(true);
  await files.prune(stillThere, Date.now() + 70 * 24 * 3_600_000);
  expect(await files.read(id)).toEqual(record);
});

test('what is younger stays, and files that belong to no session go when they are old', async () => {
  const { files, path } = await oldSession();
  const now = new Date();
  utimesSync(path, now, now);
  await files.prune(forgotten);
  expect(await files.read(id)).toEqual(record);
  expect(existsSync(files.logPath(id))).toBe(true);
  rmSync(path);
  await files.prune(stillThere);
  expect(existsSync(files.logPath(id))).toBe(false);
});
