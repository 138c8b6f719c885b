import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { programFolders } from '../protocol/index.ts';

/**
 * PATH of this process, without what a repository may have filled: a clone in which somebody starts Cadre (by npx, which
 * puts its packages first) does not get its own `temporal` or `pip3` run.
 */
export function ownPath(path = process.env.PATH ?? '', cwd = process.cwd()): string {
  const clones = [cwd, ...repositoriesAround(cwd)].filter((folder) => !isOfPerson(folder));
  return programFolders(path, clones.flatMap(placesOf), placesOf).join(':');
}

function repositoriesAround(folder: string): string[] {
  const above = dirname(folder);
  const own = existsSync(join(folder, '.git')) ? [folder] : [];
  return above === folder ? own : [...own, ...repositoriesAround(above)];
}

/** A home, and what lies around it, is no clone. */
function isOfPerson(folder: string): boolean {
  return `${homedir()}/`.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function placesOf(folder: string): string[] {
  try {
    return [resolve(folder), realpathSync(folder)];
  } catch {
    return [];
  }
}
