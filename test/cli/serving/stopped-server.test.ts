import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isStoppedOnPurpose, markStopped } from '../../../cli/serving/stopped-server.ts';
import { folderWith } from '../../support/folders.ts';

const at = (path: string, ms: number): void => utimesSync(path, new Date(ms), new Date(ms));

test('a server that died was not stopped on purpose', async () => {
  expect(await isStoppedOnPurpose(folderWith({ 'server.json': '{}' }))).toBe(false);
});

test('one that was stopped stays so until it is started again', async () => {
  const home = folderWith({ 'server.json': '{}' });
  at(join(home, 'server.json'), Date.now() - 60_000);
  await markStopped(home);
  expect(await isStoppedOnPurpose(home)).toBe(true);
  writeFileSync(join(home, 'server.json'), '{}');
  at(join(home, 'server.json'), Date.now() + 1_000);
  expect(await isStoppedOnPurpose(home)).toBe(false);
});

test('stopping where nothing ever ran leaves nothing behind that fails', async () => {
  await markStopped(join(folderWith(), 'nowhere'));
});
