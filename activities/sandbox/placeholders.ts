import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { PLACEHOLDER_TIME } from '../../protocol/placeholders.ts';
import { isPlaceholder } from './is-placeholder.ts';
import { type Free, takeName, takenNames } from './machine-names.ts';
import { PROTECTED_NAMES } from './protected-paths.ts';
import { codeCaches } from './temporary-folders.ts';

const OURS = new Date(PLACEHOLDER_TIME);
/** Where we cannot make a folder, the command cannot make it either. */
const OUT_OF_REACH = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT', 'ELOOP']);

/**
 * Makes what is protected and missing, as empty folders that can be mounted read-only; they go when no command, of whatever
 * process, needs them any more. Who needs them is told by names that the kernel takes back however a process ends: one for
 * all that is protected in every folder, and one for each place besides, which others may not know. What a killed worker
 * leaves goes with the next command that needs it.
 *
 * To be called by whoever has the turn (see `contain`): meanwhile nobody else makes or takes away any.
 *
 * @param paths what is missing, or has such a folder in its place
 * @returns what gives them free again, and takes away those that nobody needs, where one has the turn
 * @throws CadreError when they cannot be made
 */
export async function holdPlaceholders(
  paths: readonly string[],
): Promise<(isTurn: boolean) => Promise<void>> {
  const everywhere = [...PROTECTED_NAMES, ...codeCaches()];
  const held = new Map<string, Free>();
  const free = async (isTurn: boolean) => {
    for (const leave of held.values()) await leave();
    const taken = isTurn ? takenNames() : undefined;
    for (const key of held.keys()) {
      // Where nobody can tell, it counts as held.
      if (taken?.some((name) => name.startsWith(heldBy(key))) === false)
        for (const path of pathsOf(key, everywhere)) removePlaceholder(path);
    }
    held.clear();
  };
  try {
    for (const key of new Set(paths.map((path) => keyOf(path, everywhere))))
      held.set(key, await takeName(`${heldBy(key)}${randomUUID()}`));
    for (const path of paths) makePlaceholder(path);
    return free;
  } catch (error) {
    await free(true);
    throw error;
  }
}

/** A folder with a slash stands for all that is protected in every folder; each path has one key, whoever asks. */
function keyOf(path: string, everywhere: readonly string[]): string {
  return everywhere.includes(basename(path)) ? `${dirname(path)}/` : path;
}

function pathsOf(key: string, everywhere: readonly string[]): string[] {
  return key.endsWith('/') ? everywhere.map((name) => join(key, name)) : [key];
}

function heldBy(key: string): string {
  return `cadre-${createHash('sha256').update(key).digest('hex').slice(0, 32)}-held-`;
}

function makePlaceholder(path: string): void {
  try {
    mkdirSync(path);
    utimesSync(path, OURS, OURS);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || OUT_OF_REACH.has(code)) return;
    throw cannotProtect(path, error);
  }
}

/** Only one that is still as it was made; whatever is in it is somebody's. */
function removePlaceholder(path: string): void {
  try {
    if (isPlaceholder(path)) rmdirSync(path);
  } catch {
    // In use by now.
  }
}

export function cannotProtect(path: string, cause: unknown): CadreError {
  const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new CadreError('tool_failed', `${path} could not be protected from the command: ${reason}`, {
    hint: 'Nothing was run. Try again.',
    cause,
  });
}
