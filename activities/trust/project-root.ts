import { realpathSync } from 'node:fs';
import { hasRepository, upToRepository } from '../sandbox/has-repository.ts';

/** The root of the repository that a folder is in; undefined outside of any. */
export function repositoryRoot(folder: string): string | undefined {
  return upToRepository(folder).find(hasRepository);
}

/** What a folder's own settings and roles belong to: its repository, or outside of any the folder alone. */
export function projectRoot(folder: string): string {
  return repositoryRoot(folder) ?? folder;
}

/**
 * The same with links resolved; undefined where a link leads from one project into another, so that nobody can tell
 * whose files they are, and where the folder is gone.
 */
export function realProjectRoot(folder: string): string | undefined {
  try {
    const named = realpathSync(projectRoot(folder));
    return projectRoot(realpathSync(folder)) === named ? named : undefined;
  } catch {
    return undefined;
  }
}
