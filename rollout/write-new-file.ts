import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, readlink, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CadreError } from '../protocol/index.ts';
import { writeDraft } from './draft.ts';

/**
 * Writes a file that was not there before, readable for its owner alone: whole or not at all, and in place of nothing.
 * The folder is held open from its check on, so that no link leads elsewhere meanwhile.
 *
 * @param allow throws for a folder, links resolved, that may not be written to
 * @param same whether what is there already, under that name, is what is being written
 * @throws CadreError `rollout_exists` where something else is there
 */
export async function writeNewFile(
  path: string,
  lines: AsyncIterable<string>,
  allow: (folder: string) => void,
  same: (draft: string, existing: string) => Promise<boolean>,
): Promise<void> {
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const held = await heldPath(folder, dirname(path));
    allow(held.real);
    const draft = join(held.path, `.${randomUUID()}.draft`);
    const target = join(held.path, basename(path));
    try {
      await writeDraft(draft, lines);
      await link(draft, target).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        if (!(await same(draft, target))) throw exists(path);
      });
    } finally {
      await rm(draft, { force: true });
    }
    await folder.sync().catch(() => {});
  } finally {
    await folder.close();
  }
}

/** The open folder by a name that stays its own, and where it really lies. */
async function heldPath(folder: FileHandle, path: string): Promise<{ path: string; real: string }> {
  if (process.platform !== 'linux') return { path, real: path };
  const held = `/proc/self/fd/${folder.fd}`;
  return { path: held, real: await readlink(held) };
}

export function exists(path: string): CadreError {
  return new CadreError(
    'rollout_exists',
    `There is something at ${path} already, and it is not written over.`,
    {
      hint: 'Name a file that does not exist, or a folder.',
    },
  );
}
