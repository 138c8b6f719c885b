import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeLines } from '../../rollout/write-file.ts';
import { folderWith } from '../support/folders.ts';

async function* lines(...texts: (string | Error)[]): AsyncGenerator<string> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield text;
  }
}

test('a file is its owner’s alone, and so is the folder that is made for it', async () => {
  const folder = join(folderWith(), 'rollouts');
  const file = join(folder, 'x.jsonl');
  await writeLines(file, lines('a', 'b'));
  expect(readFileSync(file, 'utf8')).toBe('a\nb\n');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder)).toEqual(['x.jsonl']);
});

test('what fails half-way leaves the file that was there, and nothing else', async () => {
  const folder = folderWith();
  const file = join(folder, 'x.jsonl');
  await writeLines(file, lines('old'));
  await expect(writeLines(file, lines('x'.repeat(300_000), new Error('no more')))).rejects.toThrow('no more');
  expect(readFileSync(file, 'utf8')).toBe('old\n');
  expect(readdirSync(folder)).toEqual(['x.jsonl']);
});

test('what a killed process has begun is put away after an hour, and not before', async () => {
  const folder = folderWith();
  mkdirSync(folder, { recursive: true });
  const [old, young] = [join(folder, '.0-1.draft'), join(folder, '.0-2.draft')];
  for (const path of [old, young]) writeFileSync(path, 'half');
  const before = Date.now() / 1_000 - 3_601;
  utimesSync(old, before, before);
  await writeLines(join(folder, 'x.jsonl'), lines('whole'));
  expect(readdirSync(folder).sort()).toEqual(['.0-2.draft', 'x.jsonl']);
});
