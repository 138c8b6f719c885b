import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandLine } from './run-cadre.ts';

test.each([
  [['--agent', 'nope'], 'unknown_role', 'There is no role "nope".'],
  [['-i', 'nowhere.png'], 'usage', 'nowhere.png: it does not exist.'],
  [['-i', 'notes.txt/x.png'], 'usage', 'x.png: it does not exist.'],
  [['-i', '.'], 'usage', ': it is a folder.'],
  [['-i', 'empty.png'], 'usage', 'empty.png: it is not a PNG, JPEG, GIF or WebP image.'],
  [['-i', 'notes.txt', '--queue', 'q'], 'usage', 'notes.txt: it is not'],
  [['-i', 'notes.txt'], 'usage', 'notes.txt: it is not a PNG, JPEG, GIF or WebP image.'],
  [
    ['-i', 'https://example.com/a.png'],
    'usage',
    '--image takes a file, and https://example.com/a.png is an address.',
  ],
  [['-i', 'large.png'], 'usage', 'large.png: it is larger than 10 MiB.'],
  [['--output-schema', 'notes.txt'], 'usage', '--output-schema notes.txt: '],
  [
    ['--output-schema', 'bogus.json'],
    'usage',
    '--output-schema bogus.json is no valid JSON schema: type must be',
  ],
])('%j is refused before anything starts', async (args, code, message) => {
  const { cadre, folder } = commandLine({
    'notes.txt': 'no image',
    'bogus.json': '{"type": "bogus"}',
    'empty.png': '',
    'large.png': ' '.repeat(11_000_000),
  });
  const ended = await cadre(['run', 'look', ...args, '--json']);
  expect(ended.code).toBe(2);
  expect(JSON.parse(ended.stdout).error).toMatchObject({ code, message: expect.stringContaining(message) });
  expect(existsSync(join(folder, 'state'))).toBe(false);
});
