import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createStoreOutputs } from '../../../activities/handles/store-outputs.ts';
import { handlePath } from '../../../rollout/handle-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadre-store-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('each text is kept behind a handle of its own', async () => {
  const { stored } = await createStoreOutputs(folder)({ texts: ['one', 'two'] });
  const texts = stored.map((kept) => {
    if ('problem' in kept) throw new Error(kept.problem);
    return readFile(handlePath(folder, kept.handle) ?? '', 'utf8');
  });
  expect(await Promise.all(texts)).toEqual(['one', 'two']);
});

test('what cannot be kept is told, not thrown', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const { stored } = await createStoreOutputs(file)({ texts: ['one'] });
  expect(stored).toEqual([{ problem: expect.stringMatching(/^it leads through/) }]);
});
