import { CadreError } from '../../protocol/index.ts';
import { OpenedFolder } from './opened-folder.ts';

/** The rest of what a process may hold open belongs to others. */
const MOST_OPEN = 32;

interface Held {
  folder: Promise<OpenedFolder>;
  users: number;
}

/**
 * The folders that a patch works in: few are held open at a time, and one that is opened again has to be the same as
 * before.
 */
export class OpenFolders {
  /** The one that was used last is the last. */
  readonly #held = new Map<string, Held>();
  readonly #identities = new Map<string, string>();

  /**
   * Works in a folder while it is open.
   *
   * @param path without links
   * @throws CadreError `tool_failed` when a link or another folder has taken its place
   */
  async in<T>(path: string, work: (folder: OpenedFolder) => Promise<T>): Promise<T> {
    const held = this.#held.get(path) ?? { folder: this.#open(path), users: 0 };
    this.#held.delete(path);
    this.#held.set(path, held);
    held.users++;
    try {
      return await work(await held.folder);
    } catch (error) {
      await held.folder.catch(() => this.#forget(path, held));
      throw error;
    } finally {
      held.users--;
      await this.#closeBeyond(MOST_OPEN);
    }
  }

  async close(): Promise<void> {
    await this.#closeBeyond(0);
  }

  async #open(path: string): Promise<OpenedFolder> {
    const folder = await OpenedFolder.open(path);
    const known = this.#identities.get(path) ?? folder.identity;
    this.#identities.set(path, known);
    if (known === folder.identity) return folder;
    await folder.close();
    throw new CadreError('tool_failed', `${path} is another folder by now.`);
  }

  #forget(path: string, held: Held): void {
    if (this.#held.get(path) === held) this.#held.delete(path);
  }

  async #closeBeyond(most: number): Promise<void> {
    for (const [path, { folder, users }] of this.#held) {
      if (this.#held.size <= most) return;
      if (users > 0) continue;
      this.#held.delete(path);
      await folder.then(
        (opened) => opened.close(),
        () => {},
      );
    }
  }
}
