import { link, lstat, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { OpenedFolder } from './opened-folder.ts';
import { besides, identityOf, type JournalEntry, PatchJournal } from './patch-journal.ts';
import { inPatchTurn } from './patch-turn.ts';

type JournalFile = JournalEntry['files'][number];

/**
 * Takes back what patches have done whose processes were killed in the middle, and clears away what they have left
 * beside the files. Those that were through stay. A file that somebody has changed since stays as it is, and so does
 * what was there before, beside it.
 *
 * @param stateDir CADRE_HOME
 * @returns what was found, a line a patch, for a log
 */
export async function settlePatches(stateDir: string): Promise<string[]> {
  const under = underWay.get(stateDir);
  if (under !== undefined) return under.then(() => []);
  const settling = settle(stateDir).finally(() => underWay.delete(stateDir));
  underWay.set(stateDir, settling);
  return settling;
}

/** Whoever comes meanwhile waits for it, and then finds the files as they shall be. */
const underWay = new Map<string, Promise<string[]>>();

async function settle(stateDir: string): Promise<string[]> {
  const left = await PatchJournal.takeOver(stateDir);
  return left.length === 0 ? [] : inPatchTurn(undefined, () => takeAllBack(left));
}

async function takeAllBack(journals: readonly PatchJournal[]): Promise<string[]> {
  const lines: string[] = [];
  for (const journal of journals) {
    const { phase, files, folders } = journal.entry;
    const kept: string[] = [];
    for (const file of files.toReversed()) {
      if (!(await settleFile(file, phase).catch(() => false))) kept.push(file.path);
    }
    if (phase !== 'placed') for (const folder of folders.toReversed()) await rmdir(folder).catch(() => {});
    await journal.end();
    const what = phase === 'placed' ? 'had been applied' : 'was taken back';
    const but = kept.length === 0 ? '' : `, but for ${kept.join(', ')}: changed by somebody else since`;
    lines.push(`A patch whose process was killed in the middle ${what}${but}.`);
  }
  return lines;
}

/** @returns false when the file is not as the patch has left it */
async function settleFile(file: JournalFile, phase: JournalEntry['phase']): Promise<boolean> {
  const folder = await openedOrGone(dirname(file.path));
  if (folder === undefined) return true;
  try {
    const names = besides(file.mark);
    const old = folder.at(names.old);
    const isBack = phase !== 'placing' || (await takeBack(file, folder.at(basename(file.path)), old));
    await rm(folder.at(names.fresh), { force: true });
    if (isBack) await rm(old, { force: true });
    return isBack;
  } finally {
    await folder.close();
  }
}

async function takeBack({ before, fresh }: JournalFile, target: string, old: string): Promise<boolean> {
  const stats = await lstat(target).catch(() => undefined);
  const now = stats === undefined ? undefined : identityOf(stats);
  if (now === before) return true;
  if (before === undefined) {
    if (now === fresh) await rm(target);
    return now === fresh;
  }
  // Only what the patch has put there gives way, and nothing does where it has taken the file away.
  if (now !== fresh) return false;
  if (fresh === undefined) await putBack(old, target);
  else await rename(old, target);
  return true;
}

/** Fails where something has come to stand there meanwhile; some file systems know no second names. */
async function putBack(old: string, target: string): Promise<void> {
  await link(old, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw error;
    return rename(old, target);
  });
}

async function openedOrGone(path: string): Promise<OpenedFolder | undefined> {
  return OpenedFolder.open(path).catch(() => undefined);
}
