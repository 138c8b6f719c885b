import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PLACEHOLDER_TIME } from '../../protocol/placeholders.ts';

/** Whether a folder is the root of a repository: what keeps commands from making it one does not count. */
export function hasRepository(folder: string): boolean {
  try {
    return statSync(join(folder, '.git')).mtimeMs !== PLACEHOLDER_TIME;
  } catch {
    return false;
  }
}

/** The folders from this one up to the root of its repository; only itself where it is in none. */
export function upToRepository(folder: string): string[] {
  const levels: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    levels.push(at);
    if (hasRepository(at)) return levels;
    if (dirname(at) === at) return [folder];
  }
}

/**
 * The folders from this one up to the root of the outermost repository around it, so that none within it, which anybody
 * can make, hides that; only itself where it is in none.
 */
export function upToOutermost(folder: string): string[] {
  const levels = upToTop(folder);
  const last = levels.findLastIndex(hasRepository);
  return last < 0 ? [folder] : levels.slice(0, last + 1);
}

/** The roots of all repositories around a folder, the innermost first. */
export function repositoriesAround(folder: string): string[] {
  return upToTop(folder).filter(hasRepository);
}

function upToTop(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...upToTop(above)];
}
