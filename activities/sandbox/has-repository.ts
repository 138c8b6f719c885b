import { join } from 'node:path';
import { isThere } from './is-placeholder.ts';
import { foldersAbove } from './is-within.ts';

/** Whether a folder is the root of a repository: what keeps commands from making it one does not count. */
export function hasRepository(folder: string): boolean {
  return isThere(join(folder, '.git'));
}

/** The folders from this one up to the root of its repository; only itself where it is in none. */
export function upToRepository(folder: string): string[] {
  const levels = upToTop(folder);
  return levels.slice(0, Math.max(0, levels.findIndex(hasRepository)) + 1);
}

/**
 * The folders from this one up to the root of the outermost repository around it, so that none within it, which anybody
 * can make, hides that; only itself where it is in none.
 */
export function upToOutermost(folder: string): string[] {
  const levels = upToTop(folder);
  return levels.slice(0, Math.max(0, levels.findLastIndex(hasRepository)) + 1);
}

/** The roots of all repositories around a folder, the innermost first. */
export function repositoriesAround(folder: string): string[] {
  return upToTop(folder).filter(hasRepository);
}

function upToTop(folder: string): string[] {
  return [folder, ...foldersAbove(folder)];
}
