import { setTimeout as sleep } from 'node:timers/promises';
import { ensureFolder, unwritable } from '../../server/home.ts';
import { ProcessLock } from '../../server/process-lock.ts';
import { putWhole } from '../../server/whole-file.ts';

/** Changing such a file takes milliseconds. */
const WAIT_MS = 20;

/**
 * Changes a JSON file in CADRE_HOME that only its owner may read, whole or not at all; of what several commands change
 * at the same time nothing is lost.
 *
 * @param change what the file is to say; undefined: as it is. What it throws is passed on, and nothing is written
 * @throws CadreError `home_unwritable`
 */
export async function changeFile(
  home: string,
  path: string,
  change: () => object | undefined,
): Promise<void> {
  ensureFolder(home);
  const lock = await locked(home, `${path}.lock`);
  try {
    const content = change();
    if (content !== undefined) await written(home, path, `${JSON.stringify(content, null, 2)}\n`);
  } finally {
    await lock.release();
  }
}

async function locked(home: string, path: string): Promise<ProcessLock> {
  for (;;) {
    const lock = await ProcessLock.acquire(path).catch((error: unknown) => {
      throw unwritable(home, error);
    });
    if (lock !== undefined) return lock;
    await sleep(WAIT_MS);
  }
}

async function written(home: string, path: string, content: string): Promise<void> {
  try {
    await putWhole(path, content, 0o600);
  } catch (error) {
    throw unwritable(home, error);
  }
}
