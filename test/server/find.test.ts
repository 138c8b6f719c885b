import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atLeast } from '../../protocol/index.ts';
import { findProgram, pinnedPath, serverVersion } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import { OLDEST_SERVER, type PinnedProgram } from '../../server/pinned.ts';
import { folderWith } from '../support/folders.ts';
import { NOTHING_BROUGHT, pinnedAs, programSaying } from './programs.ts';

const says = (server: string) => programSaying(`temporal version 9.9.9 (Server ${server}, UI 2.0.0)`);

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

function placeOf(text: string): { folder: string; path: string } {
  const folder = folderWith();
  const path = join(folder, 'temporal');
  put(path, text);
  return { folder, path };
}

/** A cache that holds the pinned program, which nobody can bring. */
function filledCache(): { cacheDir: string; pinned: PinnedProgram; path: string } {
  const cacheDir = folderWith();
  const pinned = pinnedAs('', []);
  const path = pinnedPath(cacheDir, pinned);
  put(path, says(OLDEST_SERVER));
  return { cacheDir, pinned, path };
}

test.each([
  ['temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)\n', '1.32.0'],
  ['temporal version 1.1.0 (server 1.25.1) (ui 2.31.2)', '1.25.1'],
  ['A newer version is available.\ntemporal version 2.0.0 (Server v2.0.3-rc.1, UI 3.0.0)', '2.0.3'],
  ['temporal version 0.10.0', undefined],
  ['tctl version 1.18.0', undefined],
  ['', undefined],
])('of %j the version of the server is %s', (text, version) => {
  expect(serverVersion(text)).toBe(version);
});

test('versions are compared by their numbers', () => {
  const part = fc.nat(300);
  fc.assert(
    fc.property(fc.tuple(part, part, part), fc.tuple(part, part, part), (a, b) => {
      const difference = a.map((value, i) => value - (b[i] as number)).find((value) => value !== 0) ?? 0;
      expect(atLeast(a.join('.'), b.join('.'))).toBe(difference >= 0);
    }),
  );
});

test('a recent program on PATH comes before the one in the cache', async () => {
  const { cacheDir, pinned } = filledCache();
  const { folder, path } = placeOf(says('99.0.1'));
  const found = await findProgram({ cacheDir, searchPath: `/nowhere::${folder}` }, pinned);
  expect(found).toEqual({ path, version: '99.0.1' });
});

test('an old program on PATH is passed over with a word, and a recent one behind it is found', async () => {
  const { cacheDir, pinned } = filledCache();
  const [old, recent] = [placeOf(says('1.20.4')), placeOf(says('99.0.0'))];
  const told: string[] = [];
  const options = { cacheDir, onProgress: (text: string) => void told.push(text) };
  const found = await findProgram({ ...options, searchPath: `${old.folder}:${recent.folder}` }, pinned);
  expect(found.path).toBe(recent.path);
  expect(told).toEqual([expect.stringMatching(`${old.path}.*1\\.20\\.4.*${OLDEST_SERVER}`)]);
});

test.each([
  ['fails', '#!/bin/sh\nexit 1\n'],
  ['is another one of that name', programSaying('temporal 0.3, a calendar')],
  ['is made for another system', '\u0000not a program'],
])('a program on PATH that %s is passed over for the one in the cache', async (_, text) => {
  const { cacheDir, pinned, path } = filledCache();
  const { folder } = placeOf(text);
  expect((await findProgram({ cacheDir, searchPath: folder }, pinned)).path).toBe(path);
});

test('a folder or a file without the right to run is not taken for the program', async () => {
  const { cacheDir, pinned, path } = filledCache();
  const withFolder = folderWith();
  mkdirSync(join(withFolder, 'temporal'));
  const { folder, path: plain } = placeOf(says('99.0.0'));
  chmodSync(plain, 0o644);
  const found = await findProgram({ cacheDir, searchPath: `${withFolder}:${folder}` }, pinned);
  expect(found.path).toBe(path);
});

test('where there is none it is brought once, and then is in the cache', async () => {
  const cacheDir = folderWith();
  let times = 0;
  const text = says('99.0.0');
  const pinned = pinnedAs(text, [
    {
      name: 'a way',
      fetch: async () => {
        times++;
        return Buffer.from(text);
      },
    },
  ]);
  const told: string[] = [];
  const options = { cacheDir, searchPath: '', onProgress: (line: string) => void told.push(line) };
  const path = pinnedPath(cacheDir, pinned);
  expect(await findProgram(options, pinned)).toEqual({ path, version: '99.0.0' });
  expect(await findProgram(options, pinned)).toEqual({ path, version: '99.0.0' });
  expect(times).toBe(1);
  expect(told).toEqual([expect.stringContaining('a way')]);
});

test('a broken one in the cache is brought again', async () => {
  const cacheDir = folderWith();
  const text = says('99.0.0');
  const pinned = pinnedAs(text, [{ name: 'a way', fetch: async () => Buffer.from(text) }]);
  put(pinnedPath(cacheDir, pinned), text.slice(0, 5));
  expect((await findProgram({ cacheDir, searchPath: '' }, pinned)).version).toBe('99.0.0');
});

test('one that was brought and does not run here is an error that says where it is', async () => {
  const cacheDir = folderWith();
  const pinned = pinnedAs('not a program', [
    { name: 'a way', fetch: async () => Buffer.from('not a program') },
  ]);
  await expect(findProgram({ cacheDir, searchPath: '' }, pinned)).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringContaining(pinnedPath(cacheDir, pinned)),
    hint: expect.stringContaining('CADRE_CACHE'),
  });
});

test('nowhere and not to be brought: the error names what a person can do', async () => {
  const pinned = pinnedAs('', [NOTHING_BROUGHT]);
  await expect(findProgram({ cacheDir: folderWith(), searchPath: '' }, pinned)).rejects.toMatchObject({
    code: 'server_unavailable',
    hint: pinned.hint,
    retryable: true,
  });
});

test('the real program is found, or brought, and is recent enough', async () => {
  const { version } = await findProgram({ cacheDir: cacheDir(), searchPath: '' });
  expect(atLeast(version, OLDEST_SERVER)).toBe(true);
});
