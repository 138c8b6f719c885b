import { randomUUID } from 'node:crypto';
import { lstatSync, realpathSync, renameSync, symlinkSync } from 'node:fs';
import { type Bubblewrap, bubblewrapArgv } from './bubblewrap.ts';
import { holdPlaceholders } from './placeholders.ts';
import { linkAt, protectedLinks, protectedNames } from './protected-paths.ts';
import type { Contained, SandboxedCommand } from './sandboxed-command.ts';
import { codeCaches } from './temporary-folders.ts';
import { writableRoots } from './writable-places.ts';

/**
 * Readies the folders of a command for bubblewrap: what is protected and missing is made, to be mounted read-only, and
 * links, which cannot be mounted on, are put back afterwards.
 */
export async function contain(bubblewrap: Bubblewrap, command: SandboxedCommand): Promise<Contained> {
  if (command.mode === 'read-only')
    return { argv: bubblewrapArgv(bubblewrap, command), hasNamespace: true, release: async () => [] };
  const roots = writableRoots(command.workingDirectory, command.open?.writable_roots, command.stateDir);
  const links = new Map(roots.flatMap((root) => [...protectedLinks(root)]));
  const holds: (() => Promise<void>)[] = [];
  const release = async () => {
    const notes = [...links].flatMap(([path, target]) => restoreLink(path, target));
    for (const free of holds.splice(0)) await free();
    return notes;
  };
  try {
    for (const root of roots) {
      const names = isGuarded(root, command.workingDirectory) ? protectedNames(root) : codeCaches();
      holds.push(await holdPlaceholders(root, names));
    }
    return { argv: bubblewrapArgv(bubblewrap, command), hasNamespace: true, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * `/tmp` is everybody's: of what is missing there, only where code is kept is made, as an empty `.git`, say, would be
 * seen by all. It is, where the agent works in `/tmp` itself.
 */
function isGuarded(root: string, workingDirectory: string): boolean {
  return root === realpathSync(workingDirectory) || root !== realpathSync('/tmp');
}

function restoreLink(path: string, target: string): string[] {
  if (linkAt(path) === target) return [];
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  const aside = `${path}.replaced-${randomUUID().slice(0, 8)}`;
  try {
    if (isThere) renameSync(path, aside);
    symlinkSync(target, path);
  } catch (error) {
    return [`${path} is protected, and could not be made the link to ${target} again that it was: ${error}.`];
  }
  const kept = isThere ? ` What was put in its place is ${aside} now.` : '';
  return [`${path} is protected: it is the link to ${target} again that it was.${kept}`];
}
