import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeNewFile } from '../../rollout/write-new-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-new-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function* lines(...all: string[]): AsyncGenerator<string> {
  yield* all;
}
const anywhere = () => {};
const never = async () => false;

test('writes a file for its owner alone, and leaves nothing else', async () => {
  await writeNewFile(join(folder, 'new'), lines('a', 'b'), anywhere, never);
  expect(readFileSync(join(folder, 'new'), 'utf8')).toBe('a\nb\n');
  expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['new']);
});

test('writes over nothing, and through no link', async () => {
  writeFileSync(join(folder, 'old'), 'old');
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));
  for (const name of ['old', 'link']) {
    const written = writeNewFile(join(folder, name), lines('new'), anywhere, never);
    await expect(written).rejects.toMatchObject({ code: 'rollout_exists' });
  }
  expect(readFileSync(join(folder, 'old'), 'utf8')).toBe('old');
  expect(readdirSync(folder).sort()).toEqual(['link', 'old']);
});

test('what is there already may be the very same', async () => {
  const path = join(folder, 'new');
  const same = async (draft: string, existing: string) =>
    readFileSync(draft, 'utf8') === readFileSync(existing, 'utf8');
  await writeNewFile(path, lines('a'), anywhere, same);
  await writeNewFile(path, lines('a'), anywhere, same);
  await expect(writeNewFile(path, lines('b'), anywhere, same)).rejects.toMatchObject({
    code: 'rollout_exists',
  });
});

test('asks for the folder that is really written to, and leaves nothing where it may not', async () => {
  symlinkSync(folder, `${folder}-link`);
  const asked: string[] = [];
  const refuse = (real: string) => {
    asked.push(real);
    throw new Error('not there');
  };
  try {
    const written = writeNewFile(join(`${folder}-link`, 'new'), lines('a'), refuse, never);
    await expect(written).rejects.toThrow('not there');
  } finally {
    rmSync(`${folder}-link`);
  }
  expect(asked).toEqual([folder]);
  expect(readdirSync(folder)).toEqual([]);
});
