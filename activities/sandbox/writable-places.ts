import { homedir, tmpdir } from 'node:os';
import { CadreError } from '../../protocol/errors.ts';
import { readTrusted } from '../trust/trusted-folders.ts';
import { upToOutermost } from './has-repository.ts';
import { foldersAbove, isWithin } from './is-within.ts';
import { linksOn } from './links-on.ts';
import { ownPaths } from './own-places.ts';
import { protectedNow } from './protected-paths.ts';
import { realPaths } from './real-paths.ts';
import type { OwnPlaces, SandboxedCommand } from './sandboxed-command.ts';
import { temporaryFolders } from './temporary-folders.ts';

/**
 * Outer ones first, so that an inner one is not covered again. What belongs to the kernel is never one, nor what lies
 * behind a link that an earlier command can have made. Of a repository that lies in one, the folders above the working
 * directory are some of their own: so they stay where they are, and what is protected in them, too. So do the home of the
 * person and the projects that they trust: whatever works around them could make itself roles there that count as theirs.
 * And their folder for temporary files, where programs keep code.
 *
 * @param stateDir CADRE_HOME, which knows the trusted projects
 * @throws CadreError `tool_failed` when the working directory lies behind such a link
 */
export function writableRoots(
  workingDirectory: string,
  more: readonly string[] = [],
  stateDir?: string,
): string[] {
  const wanted = [...temporaryFolders(), workingDirectory, ...more];
  const reached = realPaths(wanted);
  const forged = (path: string) => linksOn(path).find((link) => reached.some((root) => isWithin(link, root)));
  const link = forged(workingDirectory);
  if (link !== undefined) throw movedAway(workingDirectory, link);
  const named = realPaths(wanted.filter((path) => forged(path) === undefined)).filter(
    (root) => !isOfKernel(root),
  );
  const above = realPaths([workingDirectory]).flatMap(upToOutermost);
  const trusted =
    stateDir === undefined ? [] : realPaths(readTrusted(stateDir).folders.map(({ path }) => path));
  const obeyed = [...realPaths([homedir(), tmpdir()]), ...trusted];
  const inside = [...above, ...obeyed].filter((folder) => named.some((root) => isWithin(folder, root)));
  return [...new Set([...named, ...inside])].sort((a, b) => a.length - b.length);
}

function movedAway(workingDirectory: string, link: string): CadreError {
  return new CadreError(
    'tool_failed',
    `The working directory ${workingDirectory} is reached through the link ${link}, which a command can have made: nothing was done.`,
    { hint: 'Put the folder back where it was, or start in the folder that the link leads to.' },
  );
}

/**
 * The folders of writable roots that lead to one of these paths. Moved, they would take with them what is protected
 * there, and something else could stand in its place for the next command.
 */
export function foldersTo(paths: readonly string[], roots: readonly string[]): string[] {
  const above = paths.flatMap(foldersAbove).filter((folder) => !roots.includes(folder));
  return [...new Set(above)].filter((folder) => {
    const root = roots.findLast((one) => isWithin(folder, one));
    // With everything as a root, these are not the machine's own but the sandbox's.
    return root !== undefined && !(root === '/' && isOfSystem(folder));
  });
}

function isOfSystem(folder: string): boolean {
  return ['/proc', '/sys', '/dev', '/run'].some((one) => isWithin(folder, one));
}

function isOfKernel(root: string): boolean {
  return ['/proc', '/sys'].some((kernel) => isWithin(root, kernel)) || ['/dev', '/run'].includes(root);
}

/** Where a command in `workspace-write` could write, as it is now. */
export interface WritablePlaces {
  /** The innermost writable root that a path lies in, links resolved; undefined where it lies in none. */
  rootOf(path: string): string | undefined;
  /** Whether something could be made in a folder, or a file be changed, links resolved. */
  has(path: string): boolean;
}

export function writablePlaces({
  workingDirectory,
  open,
  ...own
}: Pick<SandboxedCommand, 'workingDirectory' | 'open'> & OwnPlaces): WritablePlaces {
  const roots = writableRoots(workingDirectory, open?.writable_roots, own.stateDir);
  const readOnly = readOnlyInside(roots, own);
  const rootOf = (path: string) => roots.findLast((root) => isWithin(path, root));
  return {
    rootOf,
    has: (path) => rootOf(path) !== undefined && !readOnly.some((one) => isWithin(path, one)),
  };
}

/** What is protected in writable roots, as it is now; of what is the worker's own, also what is missing. */
export function readOnlyInside(roots: readonly string[], own: OwnPlaces): string[] {
  const found = [...roots.flatMap(protectedNow), ...realPaths([own.stateDir]), ...ownPaths(roots, own)];
  return [...new Set(found)].filter((path) => roots.some((root) => isWithin(path, root)));
}
