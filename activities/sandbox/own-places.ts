import { dirname } from 'node:path';
import { isThere } from './is-placeholder.ts';
import { isWithin } from './is-within.ts';
import { linksOn, reachedBy } from './links-on.ts';
import { namedByGit } from './named-by-git.ts';
import { linkAt } from './protected-paths.ts';
import { realPath } from './real-paths.ts';
import type { OwnPlaces } from './sandboxed-command.ts';

/**
 * What the worker says is its own, and what git obeys as its settings, links resolved; of what is missing, where it would be.
 */
export function ownPaths(roots: readonly string[], { readOnly = [] }: OwnPlaces): string[] {
  return [...readOnly, ...namedByGit(roots)].map((path) => realPath(path) ?? endOf(path));
}

/** The links in writable roots by which it is reached, with what they say. */
export function ownLinks(
  roots: readonly string[],
  { stateDir, readOnly = [] }: OwnPlaces,
): Map<string, string> {
  const links = [stateDir, ...readOnly, ...namedByGit(roots)].flatMap(linksOn);
  const inside = links.filter((link) => roots.some((root) => isWithin(link, root)));
  return new Map(inside.map((link) => [link, linkAt(link) ?? '']));
}

/**
 * What would have to be made first for those that are missing in a writable root. What another command, which may end at any
 * moment, has had made for the same reason is missing, too.
 */
export function missingOwn(roots: readonly string[], own: OwnPlaces): string[] {
  const missing = ownPaths(roots, own).filter((path) => !isThere(path));
  const first = missing.map(firstMissing).filter((path) => roots.some((root) => isWithin(path, root)));
  return [...new Set(first)];
}

function firstMissing(path: string): string {
  const above = dirname(path);
  return isThere(above) ? path : firstMissing(above);
}

function endOf(path: string): string {
  return reachedBy(path).at(-1) ?? path;
}
