import { existsSync, utimesSync, writeFileSync } from 'node:fs';
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

test('what is two months old is removed, the rest stays', async () => {
  const files = new SessionFiles(folderWith());
  await files.write(record);
  writeFileSync(files.logPath(id), 'log');
  const old = new Date(Date.now() - 61 * 24 * 3_600_000);
  utimesSync(files.logPath(id), old, old);
  await files.prune();
  expect(existsSync(files.logPath(id))).toBe(false);
  expect(await files.read(id)).toEqual(record);
});
