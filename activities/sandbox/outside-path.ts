import { accessSync, constants, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { programFolders } from '../../protocol/index.ts';
import { repositoriesAround } from './has-repository.ts';
import { isWithin } from './is-within.ts';
import { reachedBy } from './links-on.ts';
import { realPaths } from './real-paths.ts';

/** Where programs of the system are: from here they are taken where there is nowhere else. */
export const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/**
 * PATH for a program that nothing contains: without folders that a repository or a contained command may fill, so that
 * nobody's `make` runs in place of the person's.
 *
 * @param fillable see `fillableFolders`
 */
export function outsidePath(path: string | undefined, fillable: readonly string[]): string {
  const folders = withoutFillable(path ?? SYSTEM_PATH, fillable);
  // To a shell, an empty PATH means the folder in which it runs.
  return folders.length === 0 ? SYSTEM_PATH : folders.join(delimiter);
}

/** Of a list like PATH, what lies where nobody but the person puts things. */
export function withoutFillable(list: string, fillable: readonly string[]): string[] {
  return programFolders(list, fillable, standsFor);
}

/**
 * What a repository or a contained command may fill: the working directory, the repositories around it, and what may be
 * written to besides. A repository that is the person's home, or lies around it, is theirs.
 */
export function fillableFolders(workingDirectory: string, more: readonly string[] = []): string[] {
  const around = repositoriesAround(resolve(workingDirectory)).filter((root) => !isWithin(homedir(), root));
  return [workingDirectory, ...around, ...more].flatMap((folder) => [
    resolve(folder),
    ...realPaths([folder]),
  ]);
}

function standsFor(folder: string): string[] {
  try {
    return [resolve(folder), ...reachedBy(folder), realpathSync(folder)];
  } catch {
    // A folder that is not there, or leads nowhere, has no program.
    return [];
  }
}

/** The first program of that name in these folders of PATH, never in one that a repository may fill. */
export function findProgram(name: string, path: string, first: readonly string[] = []): string | undefined {
  const folders = outsidePath(path, []).split(delimiter);
  return [...first, ...folders].map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
