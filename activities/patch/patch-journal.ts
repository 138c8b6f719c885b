import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { isLeft, ownName } from '../file-owner.ts';
import { systemReason } from '../system-reason.ts';

const journalSchema = z.object({
  /** `staging`: no file has changed. `placing`: some may have. `placed`: all have. */
  phase: z.enum(['staging', 'placing', 'placed']),
  files: z.array(
    z.object({
      path: z.string(),
      /** Of the names beside it: `.cadre-MARK.new` and `.cadre-MARK.old`. */
      mark: z.string().regex(/^[0-9a-f]+$/),
      /** By what the file is told that was there before. */
      before: z.string().optional(),
      /** By what its new content is told, once that lies beside it; never for one that goes. */
      fresh: z.string().optional(),
    }),
  ),
  /** That were not there before, the outermost first. */
  folders: z.array(z.string()),
});
export type JournalEntry = z.output<typeof journalSchema>;

/** Names beside a file that is changed: its new content, and a second name of the old. */
export const besides = (mark: string) => ({ fresh: `.cadre-${mark}.new`, old: `.cadre-${mark}.old` });

/** What tells a file from any other, and from itself after a change. */
export const identityOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`;

/**
 * What a patch is about to do, in a file below CADRE_HOME for as long as it does it: where its process is killed,
 * another one finds it there. The name holds who is at work on it, and is taken over by renaming: only one succeeds.
 */
export class PatchJournal {
  readonly #folder: string;
  readonly #name: string;
  readonly entry: JournalEntry;

  private constructor(folder: string, name: string, entry: JournalEntry) {
    this.#folder = folder;
    this.#name = name;
    this.entry = entry;
  }

  /** @throws CadreError `tool_failed` when it cannot be written */
  static async begin(stateDir: string, entry: Omit<JournalEntry, 'phase'>): Promise<PatchJournal> {
    const name = `${randomUUID().slice(0, 8)}.${await ownName()}.json`;
    const journal = new PatchJournal(folderIn(stateDir), name, { ...entry, phase: 'staging' });
    try {
      await mkdir(journal.#folder, { recursive: true, mode: 0o700 });
      await journal.#write();
    } catch (error) {
      throw new CadreError(
        'tool_failed',
        `The patch cannot be noted: ${journal.#folder} ${systemReason(error, 'written')}.`,
        { hint: 'Nothing was changed, in no file.', cause: error },
      );
    }
    return journal;
  }

  /** Those of processes that are no more, each of them taken over by this process alone. */
  static async takeOver(stateDir: string): Promise<PatchJournal[]> {
    const folder = folderIn(stateDir);
    const names = await readdir(folder).catch(() => []);
    const taken: PatchJournal[] = [];
    for (const name of names) {
      const [id = '', owner = '', end] = name.split('.');
      if (!(await isLeft(join(folder, name), owner))) continue;
      const mine = `${id}.${await ownName()}.json`;
      // A draft tells nothing: what it was to replace is there.
      if (end !== 'json') await rm(join(folder, name), { force: true });
      else if (await moved(join(folder, name), join(folder, mine))) {
        const entry = await read(join(folder, mine));
        if (entry === undefined) await rm(join(folder, mine), { force: true });
        else taken.push(new PatchJournal(folder, mine, entry));
      }
    }
    return taken;
  }

  /**
   * All new contents lie there: from now on files change.
   *
   * @param fresh by what each is told, in the order of the files
   */
  async placing(fresh: readonly (string | undefined)[]): Promise<void> {
    this.entry.phase = 'placing';
    for (const [index, file] of this.entry.files.entries()) {
      const told = fresh[index];
      if (told !== undefined) file.fresh = told;
    }
    await this.#write();
  }

  async placed(): Promise<void> {
    this.entry.phase = 'placed';
    await this.#write();
  }

  /** Nothing is left to do. */
  async end(): Promise<void> {
    await rm(join(this.#folder, this.#name), { force: true });
  }

  /** Whole or not at all. */
  async #write(): Promise<void> {
    const path = join(this.#folder, this.#name);
    const draft = path.replace(/json$/, 'draft');
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(this.entry));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  }
}

const folderIn = (stateDir: string): string => join(stateDir, 'patches');

async function moved(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    () => false,
  );
}

async function read(path: string): Promise<JournalEntry | undefined> {
  try {
    return journalSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}
