import { realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Bubblewrap, bubblewrapArgv } from './bubblewrap.ts';
import { keepLinks } from './kept-links.ts';
import { missingOwn, ownLinks } from './own-places.ts';
import { holdPlaceholders } from './placeholders.ts';
import { protectedLinks, protectedNames } from './protected-paths.ts';
import type { Contained, SandboxedCommand } from './sandboxed-command.ts';
import { codeCaches, isTemporaryFolder } from './temporary-folders.ts';
import { writableRoots } from './writable-places.ts';

/**
 * Readies the folders of a command for bubblewrap: what is protected and missing is made, to be mounted read-only, and
 * links, which cannot be mounted on, are put back afterwards.
 */
export async function contain(bubblewrap: Bubblewrap, command: SandboxedCommand): Promise<Contained> {
  if (command.mode === 'read-only')
    return { argv: bubblewrapArgv(bubblewrap, command), hasNamespace: true, release: async () => [] };
  const roots = writableRoots(command.workingDirectory, command.open?.writable_roots, command.stateDir);
  const links = keepLinks(
    () => new Map([...roots.flatMap((root) => [...protectedLinks(root)]), ...ownLinks(roots, command)]),
  );
  const holds: (() => Promise<void>)[] = [];
  const release = async () => {
    const notes = links.release();
    for (const free of holds.splice(0)) await free();
    return notes;
  };
  try {
    const missing = missingOwn(roots, command);
    for (const [folder, names] of namesIn(roots, missing, command.workingDirectory))
      holds.push(await holdPlaceholders(folder, names));
    const readOnly = [...(command.readOnly ?? []), ...missing];
    return { argv: bubblewrapArgv(bubblewrap, { ...command, readOnly }), hasNamespace: true, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** What is made in each folder: whoever is the last to give it free takes away what it has made there, and no more. */
function namesIn(
  roots: readonly string[],
  missing: readonly string[],
  workingDirectory: string,
): Map<string, readonly string[]> {
  const names = new Map(
    roots.map((root) => [root, isGuarded(root, workingDirectory) ? protectedNames(root) : codeCaches()]),
  );
  for (const path of missing) {
    const folder = dirname(path);
    names.set(folder, [...(names.get(folder) ?? []), basename(path)]);
  }
  return names;
}

/**
 * Folders for temporary files are everybody's: of what is missing there, only where code is kept is made, as an empty
 * `.git`, say, would be seen by all. It is, where the agent works in one itself.
 */
function isGuarded(root: string, workingDirectory: string): boolean {
  return root === realpathSync(workingDirectory) || !isTemporaryFolder(root);
}
