import { constants, type Stats } from 'node:fs';
import { copyFile, link, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import type { OpenFolders } from './open-folders.ts';
import type { OpenedFolder } from './opened-folder.ts';
import { besides, identityOf } from './patch-journal.ts';

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

/** One file whose new content lies beside it, before it takes its place. */
export class StagedFile {
  readonly #write: FileWrite;
  readonly #folders: OpenFolders;
  readonly #names: { fresh: string; old: string };
  /** What may lie beside it. */
  readonly #beside = new Set<string>();
  #isPlaced = false;
  /** By what the new file is told. */
  fresh: string | undefined;

  constructor(write: FileWrite, mark: string, folders: OpenFolders) {
    this.#write = write;
    this.#folders = folders;
    this.#names = besides(mark);
  }

  get path(): string {
    return this.#write.path;
  }

  async prepare(): Promise<void> {
    const { content, before, mode } = this.#write;
    const { fresh, old } = this.#names;
    await this.#inFolder(async (folder, target) => {
      if (before !== undefined) {
        this.#beside.add(old);
        await keepAside(target, folder.at(old));
      }
      if (content === undefined) return;
      this.#beside.add(fresh);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
      const file = await open(folder.at(fresh), flags, 0o666);
      try {
        // Root edits for others, whose file it stays; a new owner takes bits of the mode away.
        if (before !== undefined && process.getuid?.() === 0) await file.chown(before.uid, before.gid);
        // A link has all bits, which say nothing.
        const bits = mode ?? (before?.isSymbolicLink() === true ? undefined : before?.mode);
        if (bits !== undefined) await file.chmod(bits & 0o7777);
        await file.writeFile(content);
        await file.sync();
        this.fresh = identityOf(await file.stat());
      } finally {
        await file.close();
      }
    });
  }

  async place(): Promise<void> {
    const { path, before, content } = this.#write;
    await this.#inFolder(async (folder, target) => {
      const now = await lstat(target).catch(() => undefined);
      if (now?.ino !== before?.ino || now?.mtimeMs !== before?.mtimeMs || now?.size !== before?.size) {
        throw new CadreError('tool_failed', `${path} was changed by somebody else meanwhile.`, {
          hint: 'Nothing was changed, in no file. Read it as it is now, and send the whole patch again.',
        });
      }
      if (content === undefined) await rm(target);
      else await rename(folder.at(this.#names.fresh), target);
      this.#isPlaced = true;
    });
    if (content !== undefined) this.#beside.delete(this.#names.fresh);
  }

  async restore(): Promise<void> {
    if (!this.#isPlaced) return;
    await this.#inFolder(async (folder, target) => {
      if (this.#write.before === undefined) await rm(target, { force: true });
      else await rename(folder.at(this.#names.old), target);
    });
  }

  /** Takes away what was only needed on the way. */
  async discard(): Promise<void> {
    if (this.#beside.size === 0) return;
    await this.#inFolder(async (folder) => {
      for (const name of this.#beside) await rm(folder.at(name), { force: true });
    }).catch(() => {});
  }

  #inFolder(work: (folder: OpenedFolder, target: string) => Promise<void>): Promise<void> {
    const { path } = this.#write;
    return this.#folders.in(dirname(path), (folder) => work(folder, folder.at(basename(path))));
  }
}

/** A second name costs nothing; some file systems know none. */
async function keepAside(target: string, aside: string): Promise<void> {
  await link(target, aside).catch(() => copyFile(target, aside, constants.COPYFILE_EXCL));
}
