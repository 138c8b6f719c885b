import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';

/** How the folders are called in which workers have the pipes of their commands. */
export const PIPES_PREFIX = 'cadre-pipes-';

/** Memory of the machine, in the place of which each sandbox has its own. */
export const SHARED_MEMORY = '/dev/shm';

/**
 * Where those folders are made: where no other command sees them, as it could put a link in the place of a pipe, and what
 * is written would go elsewhere, outside of any sandbox.
 */
export function placeForPipes(): string {
  if (process.platform !== 'linux') return tmpdir();
  try {
    accessSync(SHARED_MEMORY, constants.W_OK | constants.X_OK);
    return SHARED_MEMORY;
  } catch {
    return tmpdir();
  }
}
