import { spawnSync } from 'node:child_process';
import {
  existsSync,
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
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeFiles as write } from '../../../activities/patch/write-files.ts';

vi.setConfig({ testTimeout: 120_000 });

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

const writeFiles = (writes: Parameters<typeof write>[0], to: string, signal = new AbortController().signal) =>
  write(writes, to, signal);
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

describe('an interrupt', () => {
  const COUNT = 1_500;
  const many = () => [
    ...Array.from({ length: COUNT }, (_, i) => ({
      path: at(`come/${i}`),
      before: undefined,
      content: 'new',
    })),
    ...Array.from({ length: COUNT }, (_, i) => ({
      path: at(`${i}`),
      before: put(`${i}`),
      content: i % 2 === 0 ? 'new' : undefined,
    })),
  ];
  const names = (path: string) => (existsSync(at(path)) ? readdirSync(at(path)) : []);

  /** Aborts once `isTime`, and tells what came of it and how long that took. */
  async function interruptedWhen(isTime: () => boolean) {
    const controller = new AbortController();
    let error: unknown;
    const writing = writeFiles(many(), state, controller.signal).catch((reason: unknown) => {
      error = reason;
    });
    while (!isTime()) await setImmediate();
    const asked = Date.now();
    controller.abort();
    await writing;
    return { error, ms: Date.now() - asked };
  }

  test('while new contents are written beside their places changes nothing, and leaves nothing', async () => {
    const { error, ms } = await interruptedWhen(() => existsSync(at('come')));
    expect(error).toMatchObject({ code: 'interrupted', hint: 'Nothing was changed, in no file.' });
    expect(names('.').length).toBe(COUNT);
    expect(new Set(Object.values(all()))).toEqual(new Set(['old']));
    // Measured: 0.2 s.
    expect(ms).toBeLessThan(10_000);
  });

  test('while few files are in their places puts them back', async () => {
    const { error } = await interruptedWhen(() => existsSync(at('come/20')));
    expect(error).toMatchObject({ code: 'interrupted', hint: 'Nothing was changed, in no file.' });
    expect(names('.').length).toBe(COUNT);
    expect(new Set(Object.values(all()))).toEqual(new Set(['old']));
  });

  test('while most files are in their places puts in the rest', async () => {
    const { error } = await interruptedWhen(() => readFileSync(at('40'), 'utf8') === 'new');
    expect(error).toBeUndefined();
    expect(names('come').length).toBe(COUNT);
    expect(names('.').length).toBe(COUNT / 2 + 1);
    expect(new Set(Object.values(all()))).toEqual(new Set(['new']));
  });
});

test('a patch of more files and folders than may be open at once is applied', () => {
  const count = 150;
  for (let i = 0; i < count; i++) for (const name of ['changed', 'gone']) put(`${name}-${i}`);
  const program = fileURLToPath(new URL('./patching.ts', import.meta.url));
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 120; exec "$0" "$@"', process.execPath, program, folder, state, String(count)],
    { encoding: 'utf8' },
  );
  expect(stdout, stderr).toBe('begins\nends\n');
  expect(Object.keys(all()).length).toBe(2 * count);
});
