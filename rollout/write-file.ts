import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeDraft } from './draft.ts';

/** Whoever writes for longer has ended without putting away what it had begun. */
const ABANDONED_MS = 60 * 60_000;
const DRAFT = /^\.[\w.-]+\.draft$/;

/**
 * Writes a file that only its owner may read, whole or not at all, also when the machine loses its power: under another
 * name first, which is given up in one step.
 */
export async function writeLines(path: string, lines: AsyncIterable<string>): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeAbandoned(folder);
  const draft = join(folder, `.${randomUUID()}.draft`);
  try {
    await writeDraft(draft, lines);
    await rename(draft, path);
    await syncFolder(folder);
  } finally {
    await rm(draft, { force: true });
  }
}

/** What was begun by a process that was killed. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!DRAFT.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(path, { force: true });
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  // Not every system can do that with a folder.
  await handle?.sync().catch(() => {});
  await handle?.close();
}
