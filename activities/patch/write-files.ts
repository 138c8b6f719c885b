import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { copyFile, link, lstat, open, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { makeFolders, missingFolders, OpenedFolder } from './opened-folder.ts';
import { besides, identityOf, PatchJournal } from './patch-journal.ts';

/** What becomes of one file. */
export interface FileWrite {
  /** Without links. */
  path: string;
  /** As it was when it was read; undefined: it was not there. */
  before: Stats | undefined;
  /** Undefined: it goes. */
  content: string | undefined;
  /** Of a file that takes the place of another one. */
  mode?: number;
}

/**
 * Writes all files, or none: each is prepared beside its place first, then all take their places; when one cannot, those
 * before it get their old content back. Whoever reads a file meanwhile sees the old one or the new one whole. Where the
 * process is killed in the middle, `settlePatches` does so, before the next call of a tool.
 *
 * @param stateDir CADRE_HOME, where it is noted what is under way
 * @throws CadreError `tool_failed` with the reason; nothing has changed then
 */
export async function writeFiles(writes: readonly FileWrite[], stateDir: string): Promise<void> {
  const made: string[] = [];
  const staged: Staged[] = [];
  const marks = writes.map(() => randomUUID().slice(0, 8));
  const journal = await PatchJournal.begin(stateDir, await entryFor(writes, marks));
  let at: string | undefined;
  try {
    for (const [index, write] of writes.entries()) {
      at = write.path;
      if (write.content !== undefined) await makeFolders(dirname(at), made);
      staged.push(await Staged.prepare(write, marks[index] as string));
    }
    at = undefined;
    await journal.placing(staged.map(({ fresh }) => fresh));
    for (const one of staged) {
      at = one.path;
      await one.place();
    }
    at = undefined;
    await journal.placed();
  } catch (error) {
    const lost: string[] = [];
    for (const one of staged.toReversed()) await one.restore().catch(() => lost.push(one.path));
    for (const one of staged) if (!lost.includes(one.path)) await one.discard();
    for (const folder of made.toReversed()) await rmdir(folder).catch(() => {});
    await journal.end();
    if (lost.length > 0) throw halfDone(lost, error);
    throw error instanceof CadreError ? error : failure(error, at);
  }
  for (const one of staged) await one.discard();
  await journal.end();
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

/** One file whose new content lies beside it. */
class Staged {
  readonly #write: FileWrite;
  readonly #folder: OpenedFolder;
  readonly #name: string;
  readonly #new: string;
  readonly #old: string;
  #isPlaced = false;
  /** By what the new file is told. */
  fresh: string | undefined;

  private constructor(write: FileWrite, folder: OpenedFolder, mark: string) {
    const names = besides(mark);
    this.#write = write;
    this.#folder = folder;
    this.#name = basename(write.path);
    this.#new = folder.at(names.fresh);
    this.#old = folder.at(names.old);
  }

  static async prepare(write: FileWrite, mark: string): Promise<Staged> {
    const staged = new Staged(write, await OpenedFolder.open(dirname(write.path)), mark);
    try {
      await staged.#prepare();
    } catch (error) {
      await staged.discard();
      throw error;
    }
    return staged;
  }

  async #prepare(): Promise<void> {
    const { content, before, mode } = this.#write;
    if (before !== undefined) await keepAside(this.#target, this.#old);
    if (content === undefined) return;
    const file = await open(this.#new, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666);
    try {
      // Root edits for others, whose file it stays; a new owner takes bits of the mode away.
      if (before !== undefined && process.getuid?.() === 0) await file.chown(before.uid, before.gid);
      const bits = mode ?? before?.mode;
      if (bits !== undefined) await file.chmod(bits & 0o7777);
      await file.writeFile(content);
      await file.sync();
      this.fresh = identityOf(await file.stat());
    } finally {
      await file.close();
    }
  }

  async place(): Promise<void> {
    const { path, before, content } = this.#write;
    const now = await lstat(this.#target).catch(() => undefined);
    if (now?.ino !== before?.ino || now?.mtimeMs !== before?.mtimeMs || now?.size !== before?.size) {
      throw new CadreError('tool_failed', `${path} was changed by somebody else meanwhile.`, {
        hint: 'Nothing was changed, in no file. Read it as it is now, and send the whole patch again.',
      });
    }
    if (content === undefined) await rm(this.#target);
    else await rename(this.#new, this.#target);
    this.#isPlaced = true;
  }

  async restore(): Promise<void> {
    if (!this.#isPlaced) return;
    if (this.#write.before === undefined) await rm(this.#target, { force: true });
    else await rename(this.#old, this.#target);
  }

  /** Takes away what was only needed on the way. */
  async discard(): Promise<void> {
    await rm(this.#new, { force: true }).catch(() => {});
    await rm(this.#old, { force: true }).catch(() => {});
    await this.#folder.close();
  }

  get path(): string {
    return this.#write.path;
  }

  get #target(): string {
    return this.#folder.at(this.#name);
  }
}

/** What cannot happen on a sound disk is said as it is, and what is needed to mend it is left there. */
function halfDone(paths: readonly string[], error: unknown): CadreError {
  return new CadreError(
    'outcome_unknown',
    `The patch failed in the middle, and ${paths.join(', ')} could not be put back: ${error}`,
    { hint: 'What was there before lies beside it, in a file .cadre-….old.', cause: error },
  );
}

/** A second name costs nothing; some file systems know none. */
async function keepAside(target: string, aside: string): Promise<void> {
  await link(target, aside).catch(() => copyFile(target, aside, constants.COPYFILE_EXCL));
}

function failure(error: unknown, path: string | undefined): CadreError {
  const { code, message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    EACCES: 'may not be written',
    EPERM: 'may not be written',
    EROFS: 'lies on a file system that takes no changes',
    ENOSPC: 'does not fit: the disk is full',
    EDQUOT: 'does not fit: the quota is used up',
    ENAMETOOLONG: 'has too long a name',
    ENOTDIR: 'leads through something that is not a folder',
    ENOENT: 'lies in a folder that has gone meanwhile',
    ELOOP: 'leads through a link that was put there meanwhile',
  };
  const what = `${path ?? 'A file'} ${reasons[code ?? ''] ?? `could not be written: ${message}`}`;
  return new CadreError('tool_failed', `${what}.`, {
    hint: 'Nothing was changed, in no file.',
    cause: error,
  });
}
