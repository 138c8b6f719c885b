import { basename, dirname, join } from 'node:path';
import { type Bubblewrap, bubblewrapArgv } from './bubblewrap.ts';
import { isPlaceholder, isThere } from './is-placeholder.ts';
import { isWithin } from './is-within.ts';
import { keepLinks } from './kept-links.ts';
import { takeTurn } from './machine-names.ts';
import { missingOwn, ownLinks } from './own-places.ts';
import { cannotProtect, holdPlaceholders } from './placeholders.ts';
import { PROTECTED_NAMES, protectedLinks, protectedNames, protectedPaths } from './protected-paths.ts';
import { realPath } from './real-paths.ts';
import type { Contained, SandboxedCommand } from './sandboxed-command.ts';
import { codeCaches, isTemporaryFolder } from './temporary-folders.ts';
import { writableRoots } from './writable-places.ts';

/** Of all commands of a machine one at a time looks at what is there, and makes or takes away what stands in for the rest. */
const TURN = 'cadre-sandbox-turn';

/**
 * Readies the folders of a command for bubblewrap: what is protected and missing is made, to be mounted read-only, and
 * links, which cannot be mounted on, are put back afterwards.
 */
export async function contain(bubblewrap: Bubblewrap, command: SandboxedCommand): Promise<Contained> {
  if (command.mode === 'read-only')
    return { argv: bubblewrapArgv(bubblewrap, command), hasNamespace: true, release: async () => [] };
  const { workingDirectory, stateDir, open } = command;
  const roots = writableRoots(workingDirectory, open?.writable_roots, stateDir);
  const { readOnly, release } = await inTurn(workingDirectory, async () => {
    const links = await keepLinks(
      stateDir,
      () => new Map([...roots.flatMap((root) => [...protectedLinks(root)]), ...ownLinks(roots, command)]),
    );
    try {
      const own = missingOwn(roots, command);
      const missing = [...roots.flatMap((root) => missingIn(root, workingDirectory)), ...own];
      const free = await holdPlaceholders([...new Set(missing)]);
      const release = async (isTurn: boolean) => {
        const notes = links.release();
        await free(isTurn);
        return notes;
      };
      return { readOnly: [...(command.readOnly ?? []), ...own], release };
    } catch (error) {
      links.release();
      throw error;
    }
  });
  // Links are put back whether one gets the turn or not, and what stands in for the rest stays for the next command then.
  const releaseInTurn = () => inTurn(workingDirectory, () => release(true)).catch(() => release(false));
  try {
    const argv = bubblewrapArgv(bubblewrap, { ...command, readOnly });
    return { argv, hasNamespace: true, release: releaseInTurn };
  } catch (error) {
    await releaseInTurn();
    throw error;
  }
}

async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const end = await takeTurn(TURN).catch((error: unknown) => {
    throw cannotProtect(folder, error);
  });
  try {
    return await work();
  } finally {
    await end();
  }
}

/**
 * Of what is protected in a root. Folders for temporary files are everybody's: there only where code is kept is made, as an
 * empty `.git`, say, would be seen by all. It is, where the agent works in one itself, and then others hold that, too, as
 * they mount what is there. What a link that leads out of the root stands for is none of its business.
 */
function missingIn(root: string, workingDirectory: string): string[] {
  const missing = (names: readonly string[]) => protectedPaths(root, names).filter((path) => !isThere(path));
  const isGuarded = root === realPath(workingDirectory) || !isTemporaryFolder(root);
  const held = isGuarded
    ? missing(protectedNames(root))
    : [...missing(codeCaches()), ...protectedPaths(root, PROTECTED_NAMES).filter(isPlaceholder)];
  return held.flatMap((path) => {
    // By what its folder really is: a link on the way may lead out, and others may come to it by another one.
    const above = realPath(dirname(path));
    const isInside = above !== undefined && isWithin(path, root) && isWithin(above, root);
    return isInside ? [join(above, basename(path))] : [];
  });
}
