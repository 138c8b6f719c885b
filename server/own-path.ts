import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { programFolders } from '../protocol/index.ts';

/**
 * PATH of this process, without what a repository may have filled: a clone in which somebody starts Cadre (by npx, which
 * puts its packages first) does not get its own `temporal` or `pip3` run.
 */
export function ownPath(path = process.env.PATH ?? '', cwd = process.cwd()): string {
  // A home is the person's, and no clone.
  const isClone = !`${homedir()}/`.startsWith(cwd.endsWith('/') ? cwd : `${cwd}/`);
  return programFolders(path, isClone ? placesOf(cwd) : [], placesOf).join(':');
}

function placesOf(folder: string): string[] {
  try {
    return [resolve(folder), realpathSync(folder)];
  } catch {
    return [];
  }
}
