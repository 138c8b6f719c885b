import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import { viewImage } from '../../../activities/tools/view-image.ts';
import { folderWith } from '../../support/folders.ts';
import { IMAGES } from '../../support/images.ts';
import { agentIn, contextIn, sessionWith } from './tool-context.ts';

const SIGNS: Record<string, Buffer> = {
  'a.png': IMAGES.png,
  'a.jpg': IMAGES.jpeg,
  'a.gif': IMAGES.gif,
  'a.webp': IMAGES.webp,
  // Told by what it is, not by what it is called.
  'a.txt': IMAGES.gif,
};

function folder(): string {
  const made = folderWith({ 'notes.png': 'text', 'empty.png': '', 'large.png': ' '.repeat(11_000_000) });
  for (const [name, bytes] of Object.entries(SIGNS)) writeFileSync(join(made, name), bytes);
  writeFileSync(join(made, 'fake.png'), '\x89PNG\r\n\x1a\nnot really', 'latin1');
  mkdirSync(join(made, 'sub'));
  execFileSync('/bin/sh', ['-c', `mkfifo '${join(made, 'pipe')}'`]);
  return made;
}

test.each(Object.keys(SIGNS))('%s is shown', async (path) => {
  const made = folder();
  expect(await viewImage.run({ path }, contextIn(made))).toMatchObject({
    success: true,
    image: { path: join(made, path), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
});

test.each([
  ['none.png', 'does not exist'],
  ['notes.png', 'it is not a PNG, JPEG, GIF or WebP image'],
  ['empty.png', 'it is not a PNG, JPEG, GIF or WebP image'],
  ['large.png', 'it is larger than 10 MiB'],
  ['fake.png', 'it is no whole PNG image: it breaks off'],
  ['sub', 'it is a folder'],
  ['pipe', 'no ordinary file'],
  ['/dev/zero', 'no ordinary file'],
  ['a\0b.png', 'NUL|null bytes'],
])('%j is refused with the reason', async (path, reason) => {
  await expect(viewImage.run({ path }, contextIn(folder()))).rejects.toThrow(new RegExp(reason));
});

test('it can be switched off for a session', () => {
  const names = (tools: object) =>
    offeredTools(agentIn({ working_directory: '/' }), sessionWith({ tools }), builtinTools).map(
      ({ name }) => name,
    );
  expect(names({})).toContain('view_image');
  expect(names({ view_image: false })).not.toContain('view_image');
});
