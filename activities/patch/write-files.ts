import { randomUUID } from 'node:crypto';
import { mkdir, rmdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { systemReason } from '../system-reason.ts';
import { OpenFolders } from './open-folders.ts';
import { missingFolders } from './opened-folder.ts';
import { identityOf, PatchJournal } from './patch-journal.ts';
import { forSeveral } from './several.ts';
import { type FileWrite, StagedFile } from './staged-file.ts';

/**
 * Writes all files, or none: each is prepared beside its place first, then all take their places; when one cannot, those
 * before it get their old content back. Whoever reads a file meanwhile sees the old one or the new one whole. Where the
 * process is killed in the middle, `settlePatches` does so, before the next call of a tool.
 *
 * @param stateDir CADRE_HOME, where it is noted what is under way
 * @param signal stops it while fewer than half of the files are in their places; after that, it is sooner through than back
 * @throws CadreError with the reason, `tool_failed` or `interrupted`; nothing has changed then
 */
export async function writeFiles(
  writes: readonly FileWrite[],
  stateDir: string,
  signal: AbortSignal,
): Promise<void> {
  const marks = writes.map(() => randomUUID().slice(0, 8));
  const journal = await PatchJournal.begin(stateDir, await entryFor(writes, marks));
  const folders = new OpenFolders();
  const staged = writes.map((write, index) => new StagedFile(write, marks[index] as string, folders));
  const made: string[] = [];
  try {
    await place(staged, { journal, folders, made, signal }).catch(async (error: unknown) => {
      const lost = await takeBack(staged);
      for (const folder of made.toReversed()) await rmdir(folder).catch(() => {});
      await journal.end();
      if (lost.length > 0) throw halfDone(lost, error);
      throw error instanceof CadreError ? error : failure(error, undefined);
    });
    await forSeveral(staged, (one) => one.discard());
    await journal.end();
  } finally {
    await folders.close();
  }
}

interface Placing {
  journal: PatchJournal;
  folders: OpenFolders;
  /** Takes the folders that were made, the outermost first. */
  made: string[];
  signal: AbortSignal;
}

async function place(
  staged: readonly StagedFile[],
  { journal, folders, made, signal }: Placing,
): Promise<void> {
  for (const path of journal.entry.folders) {
    goOn(signal);
    await named(path, makeFolder(path, folders, made));
  }
  await forSeveral(staged, async (one) => {
    goOn(signal);
    await named(one.path, one.prepare());
  });
  goOn(signal);
  await journal.placing(staged.map(({ fresh }) => fresh));
  let placed = 0;
  await forSeveral(staged, async (one) => {
    if (placed < staged.length / 2) goOn(signal);
    await named(one.path, one.place());
    placed++;
  });
  await journal.placed();
}

/** @returns what could not be put back; what is needed for it stays beside it */
async function takeBack(staged: readonly StagedFile[]): Promise<string[]> {
  const lost = new Set<StagedFile>();
  await forSeveral(staged, (one) => one.restore().catch(() => void lost.add(one)));
  await forSeveral(
    staged.filter((one) => !lost.has(one)),
    (one) => one.discard(),
  );
  return [...lost].map(({ path }) => path);
}

/** @throws CadreError `interrupted`: nothing is in its place yet, or will be put back */
function goOn(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new CadreError('interrupted', 'The patch was stopped before it was through.', {
    hint: 'Nothing was changed, in no file.',
  });
}

async function named(path: string, work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    throw error instanceof CadreError ? error : failure(error, path);
  });
}

/** Within the one above it, which is there. Somebody else may have made it meanwhile. */
async function makeFolder(path: string, folders: OpenFolders, made: string[]): Promise<void> {
  await folders.in(dirname(path), async (folder) => {
    try {
      await mkdir(folder.at(basename(path)));
      made.push(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  });
}

async function entryFor(writes: readonly FileWrite[], marks: readonly string[]) {
  const files = writes.map(({ path, before }, index) => ({
    path,
    mark: marks[index] as string,
    ...(before === undefined ? {} : { before: identityOf(before) }),
  }));
  const wanted = writes.filter(({ content }) => content !== undefined).map(({ path }) => dirname(path));
  return { files, folders: await missingFolders(wanted) };
}

/** What cannot happen on a sound disk is said as it is, and what is needed to mend it is left there. */
function halfDone(paths: readonly string[], error: unknown): CadreError {
  return new CadreError(
    'outcome_unknown',
    `The patch failed in the middle, and ${paths.join(', ')} could not be put back: ${error instanceof CadreError ? error.message : failure(error, undefined).message}`,
    { hint: 'What was there before lies beside it, in a file .cadre-….old.', cause: error },
  );
}

/** What was there a moment ago. */
const MEANWHILE: Readonly<Record<string, string>> = {
  ENOENT: 'lies in a folder that has gone meanwhile',
  ELOOP: 'leads through a link that was put there meanwhile',
};

function failure(error: unknown, path: string | undefined): CadreError {
  const reason = MEANWHILE[(error as NodeJS.ErrnoException).code ?? ''] ?? systemReason(error, 'written');
  return new CadreError('tool_failed', `${path ?? 'A file'} ${reason}.`, {
    hint: 'Nothing was changed, in no file.',
    cause: error,
  });
}
