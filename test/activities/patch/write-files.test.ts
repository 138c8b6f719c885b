import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeFiles } from '../../../activities/patch/write-files.ts';

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-writes-'));
  state = mkdtempSync(join(tmpdir(), 'cadre-state-'));
});
afterEach(() => {
  expect(readdirSync(join(state, 'patches'))).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
  rmSync(state, { recursive: true, force: true });
});

const at = (name: string) => join(folder, name);
const put = (name: string, text = 'old') => {
  writeFileSync(at(name), text);
  return statSync(at(name));
};
const all = () =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => [join(entry.parentPath, entry.name).slice(folder.length + 1), 0])
      .map(([name]) => [name, readFileSync(at(String(name)), 'utf8')]),
  );
/** Ahead of the one that fails: one that changes, one that goes, one that comes in a folder that comes. */
const before = () => [
  { path: at('a'), before: put('a'), content: 'new' },
  { path: at('b'), before: put('b'), content: undefined },
  { path: at('deep/er/c'), before: undefined, content: 'new' },
];

test('all files take their places', async () => {
  await writeFiles(before(), state);
  expect(all()).toEqual({ a: 'new', 'deep/er/c': 'new' });
});

test.each<[string, () => Parameters<typeof writeFiles>[0][number], RegExp]>([
  [
    'was changed meanwhile',
    () => {
      const stats = put('d');
      put('d', 'by another');
      return { path: at('d'), before: stats, content: 'x' };
    },
    /d was changed by somebody else meanwhile/,
  ],
  [
    'has come meanwhile',
    () => {
      put('d', 'by another');
      return { path: at('d'), before: undefined, content: 'x' };
    },
    /d was changed by somebody else meanwhile/,
  ],
  [
    'has gone meanwhile',
    () => {
      const stats = put('d');
      rmSync(at('d'));
      return { path: at('d'), before: stats, content: 'x' };
    },
    /d (lies in a folder that has gone|could not be written|was changed)/,
  ],
  [
    'has too long a name',
    () => ({ path: at('x'.repeat(300)), before: undefined, content: 'x' }),
    /has too long a name/,
  ],
  [
    'lies below a file',
    () => {
      put('file');
      return { path: at('file/x'), before: undefined, content: 'x' };
    },
    /leads through something that is not a folder/,
  ],
])('where one %s, none does', async (_, failing, reason) => {
  const writes = [...before(), failing()];
  const found = all();
  await expect(writeFiles(writes, state)).rejects.toThrow(reason);
  expect(all()).toEqual(found);
  expect(readdirSync(folder)).not.toContain('deep');
});

test('what a link leads to that takes the place of a folder meanwhile is not written', async () => {
  await mkdir(at('in'));
  await mkdir(at('elsewhere'));
  put('elsewhere/x', 'mine');
  const stats = put('in/x', 'mine');
  renameSync(at('in'), at('was'));
  symlinkSync(at('elsewhere'), at('in'));
  await expect(writeFiles([{ path: at('in/x'), before: stats, content: 'theirs' }], state)).rejects.toThrow();
  await expect(
    writeFiles([{ path: at('in/new/y'), before: undefined, content: 'theirs' }], state),
  ).rejects.toThrow();
  expect([readdirSync(at('elsewhere')), readdirSync(at('was'))]).toEqual([['x'], ['x']]);
  expect([readFileSync(at('elsewhere/x'), 'utf8'), readFileSync(at('was/x'), 'utf8')]).toEqual([
    'mine',
    'mine',
  ]);
});
