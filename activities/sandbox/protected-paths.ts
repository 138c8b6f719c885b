import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readOrdinaryFile } from '../ordinary-file.ts';
import { upToRepository } from './has-repository.ts';
import { realPath } from './real-paths.ts';
import { codeCaches, isTemporaryFolder } from './temporary-folders.ts';

/** Inside a writable root these stay as they are: what is in them decides what runs later, outside the sandbox. */
export const PROTECTED_NAMES: readonly string[] = ['.git', '.cadre', '.codex', '.claude', '.agents'];

/** The same names in every folder, and in one for temporary files those that hold code there. */
export function protectedNames(folder: string): readonly string[] {
  return isTemporaryFolder(folder) ? [...PROTECTED_NAMES, ...codeCaches()] : PROTECTED_NAMES;
}

/**
 * What commands may neither change nor make in a folder; what a link stands for where it is one. `.git` is left out
 * inside of a repository, where it would make another one: those are not protected, and even an empty `.git` would
 * hide the real one from tools that look for it.
 */
export function protectedPaths(folder: string, names = protectedNames(folder)): string[] {
  const isInside = upToRepository(folder).length > 1;
  return names
    .filter((name) => name !== '.git' || !isInside)
    .map((name) => join(folder, name))
    .map((path) => {
      const target = linkAt(path);
      return target === undefined ? path : resolve(folder, target);
    });
}

/** Of what is protected in a folder, what is there, links resolved; also where its `.git` says the repository is. */
export function protectedNow(folder: string): string[] {
  return protectedPaths(folder).flatMap((path) => {
    const real = realPath(path);
    return real === undefined ? [] : [real, ...repositoryOf(path)];
  });
}

/** The protected names in a folder that are links, with what they say. */
export function protectedLinks(folder: string): Map<string, string> {
  const links = protectedNames(folder).map(
    (name) => [join(folder, name), linkAt(join(folder, name))] as const,
  );
  return new Map(links.flatMap(([path, target]) => (target === undefined ? [] : [[path, target]])));
}

/** What a link says; of what cannot be looked at (too long a name, no right, a file for a folder) nobody follows one. */
export function linkAt(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** The folders in which git keeps the settings of a repository. */
export function settingsFolders(root: string): string[] {
  const path = join(root, '.git');
  const named = repositoryOf(path);
  return named.length > 0 ? named : [path];
}

/** A worktree and a submodule have a file for `.git`, which names a folder; that may name another one, with the hooks. */
function repositoryOf(path: string): string[] {
  try {
    const [, named] = /^gitdir: (.+)$/.exec(textOf(path).trimEnd()) ?? [];
    if (named === undefined) return [];
    const folder = realpathSync(resolve(dirname(path), named));
    const common = join(folder, 'commondir');
    if (!existsSync(common)) return [folder];
    return [folder, realpathSync(resolve(folder, textOf(common).trim()))];
  } catch {
    // A folder, what is no file, or one that leads nowhere.
    return [];
  }
}

function textOf(path: string): string {
  return readOrdinaryFile(path).bytes.toString();
}
