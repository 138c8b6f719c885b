import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settlePatches } from '../../../activities/patch/settle-patches.ts';

vi.setConfig({ testTimeout: 120_000 });

const PATCHING = fileURLToPath(new URL('./patching.ts', import.meta.url));
const COUNT = 60;

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-settle-'));
  state = mkdtempSync(join(tmpdir(), 'cadre-state-'));
  for (let i = 0; i < COUNT; i++) {
    writeFileSync(join(folder, `changed-${i}`), 'old');
    writeFileSync(join(folder, `gone-${i}`), 'old');
  }
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(state, { recursive: true, force: true });
});

const all = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
const numbers = Array.from({ length: COUNT }, (_, i) => i);
const BEFORE = Object.fromEntries(
  numbers.flatMap((i) => [
    [`changed-${i}`, 'old'],
    [`gone-${i}`, 'old'],
  ]),
);
const AFTER = Object.fromEntries(
  numbers.flatMap((i) => [
    [`changed-${i}`, 'new'],
    [`come/deep-${i}/file`, 'new'],
  ]),
);
const journals = () => (readdirSync(state).includes('patches') ? readdirSync(join(state, 'patches')) : []);
const phase = () => {
  const name = journals().find((one) => one.endsWith('.json'));
  return name === undefined
    ? ''
    : /"phase":"(\w+)"/.exec(readFileSync(join(state, 'patches', name), 'utf8'))?.[1];
};

/** Starts a patch, and kills its process once `isTime`, or when it has ended. */
async function killWhen(isTime: () => boolean | Promise<boolean>): Promise<void> {
  const child = spawn(process.execPath, [PATCHING, folder, state, String(COUNT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  await once(child.stdout, 'data');
  while (child.exitCode === null && !(await isTime())) await sleep(0);
  child.kill('SIGKILL');
  await gone;
}

test.each(['staging', 'placing', 'placed'])(
  'a patch whose process is killed while it is %s is there whole or not at all, with nothing beside it',
  async (wanted) => {
    await killWhen(() => {
      try {
        return phase() === wanted;
      } catch {
        return false;
      }
    });
    const found = all();
    const lines = await settlePatches(state);
    const isThrough = readdirSync(folder).includes('come');
    expect(all()).toEqual(isThrough ? AFTER : BEFORE);
    expect(journals()).toEqual([]);
    if (Object.keys(found).some((name) => name.includes('.cadre-'))) {
      if (wanted === 'staging') expect(isThrough).toBe(false);
      expect(lines).toEqual([
        `A patch whose process was killed in the middle ${isThrough ? 'had been applied' : 'was taken back'}.`,
      ]);
    }
    expect(await settlePatches(state)).toEqual([]);
  },
);

test('whenever it is killed', async () => {
  const seen = new Set<string>();
  let waitMs = 0;
  for (let round = 0; round < 8 || (round < 80 && !seen.has('half')); round++) {
    let begun = 0;
    await killWhen(() => {
      begun ||= Date.now();
      return Date.now() - begun >= waitMs;
    });
    const names = Object.keys(all());
    const isHalf = names.some((name) => name.includes('.cadre-'));
    await settlePatches(state);
    const isThrough = readdirSync(folder).includes('come');
    expect(all()).toEqual(isThrough ? AFTER : BEFORE);
    seen.add(isHalf ? 'half' : isThrough ? 'whole' : 'nothing');
    waitMs = isThrough ? 0 : waitMs + 15;
    if (!isThrough) continue;
    rmSync(join(folder, 'come'), { recursive: true });
    for (const [name, text] of Object.entries(BEFORE)) writeFileSync(join(folder, name), text);
  }
  // A kill before or after shows nothing.
  expect([...seen]).toContain('half');
});

const isChanged = (name: string) => readFileSync(join(folder, name), 'utf8') === 'new';

test('what somebody has changed since stays, and so does what was there before, beside it', async () => {
  await killWhen(() => isChanged('changed-0'));
  writeFileSync(join(folder, 'changed-0'), 'by a person');
  const lines = await settlePatches(state);
  const { 'changed-0': changed, ...others } = all();
  const [beside = '', ...more] = Object.keys(others).filter((name) => name.includes('.cadre-'));
  expect([changed, others[beside], more]).toEqual(['by a person', 'old', []]);
  expect(lines).toEqual([expect.stringContaining(`but for ${join(folder, 'changed-0')}`)]);
});

test('a patch of a process that nobody here can see is left alone for ten minutes', async () => {
  await killWhen(() => isChanged('changed-0'));
  const found = all();
  const [name = ''] = journals().filter((one) => one.endsWith('.json'));
  const theirs = join(state, 'patches', name.replace(/\.\w+-/, '.0123456789abcdef-'));
  renameSync(join(state, 'patches', name), theirs);
  expect(await settlePatches(state)).toEqual([]);
  expect(all()).toEqual(found);
  const then = new Date(Date.now() - 11 * 60_000);
  utimesSync(theirs, then, then);
  expect(await settlePatches(state)).toHaveLength(1);
  expect(all()).toEqual(BEFORE);
});
