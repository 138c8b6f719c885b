import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadTools } from '../../cli/load-tools.ts';
import { folderWith } from '../support/folders.ts';

test('a module that goes on loading while something happens is given up after a while', async () => {
  const text = 'setInterval(() => {}, 1_000).unref();\nawait new Promise(() => {});\nexport default [];\n';
  const path = join(folderWith({ 'slow.mjs': text }), 'slow.mjs');
  await expect(loadTools(path, 2_000)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/slow\.mjs cannot be loaded: its top level .* did not come within 2 s/),
  });
});
