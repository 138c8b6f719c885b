import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findProgram } from '../../server/find.ts';
import { ownPath } from '../../server/own-path.ts';
import { OLDEST_SERVER } from '../../server/pinned.ts';
import { folderWith } from '../support/folders.ts';
import { NOTHING_BROUGHT, pinnedAs, programSaying } from './programs.ts';

function clone(): string {
  const folder = realpathSync(mkdtempSync('/var/tmp/cadre-own-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const bin of ['bin', 'node_modules/.bin']) mkdirSync(join(folder, bin), { recursive: true });
  return folder;
}

test('programs are not taken from the folder in which somebody starts this, nor from installed packages', () => {
  const [here, elsewhere] = [clone(), clone()];
  symlinkSync(join(here, 'bin'), join(elsewhere, 'link'));
  const path = [
    ...[join(here, 'bin'), join(here, 'node_modules/.bin'), join(elsewhere, 'node_modules/.bin'), '', 'bin'],
    ...[join(elsewhere, 'link'), join(elsewhere, 'bin'), '/usr/bin'],
  ].join(':');
  expect(ownPath(path, here)).toBe(`${join(elsewhere, 'bin')}:/usr/bin`);
});

test('nor from the repository around that folder', () => {
  const repository = clone();
  mkdirSync(join(repository, '.git'));
  mkdirSync(join(repository, 'sub'));
  expect(ownPath(`${join(repository, 'bin')}:/usr/bin`, join(repository, 'sub'))).toBe('/usr/bin');
});

test('a home is no clone: what the person has installed there is found from it, too', () => {
  // Not the home of whoever tests: one in a folder for temporary files is nobody's place of programs.
  const home = clone();
  vi.stubEnv('HOME', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const programs = join(home, 'bin');
  expect(ownPath(`${home}:${programs}`, home)).toBe(`${home}:${programs}`);
  expect(ownPath('/usr/bin', '/')).toBe('/usr/bin');
});

test("the temporal that npx would take from a clone's packages is not run", async () => {
  const bin = join(clone(), 'node_modules/.bin');
  const ran = join(bin, 'ran');
  const text = programSaying(`temporal version 9.9.9 (Server ${OLDEST_SERVER}, UI 2.0.0)`);
  writeFileSync(join(bin, 'temporal'), text.replace('\n', `\ntouch ${ran}\n`), { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:/nowhere`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const pinned = pinnedAs('', [NOTHING_BROUGHT]);
  await expect(findProgram({ cacheDir: folderWith() }, pinned)).rejects.toMatchObject({
    code: 'server_unavailable',
  });
  expect(existsSync(ran)).toBe(false);
});
