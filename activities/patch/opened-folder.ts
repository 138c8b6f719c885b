import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CadreError } from '../../protocol/index.ts';

const IS_LINUX = process.platform === 'linux';

/**
 * A folder that is held open: what is done by `at(name)` is done in it, and not in what may have taken its place
 * meanwhile. Where the system has no names for open folders (macOS), it is its path.
 */
export class OpenedFolder {
  readonly path: string;
  /** Tells it from any other folder that there is now. */
  readonly identity: string;
  readonly #handle: FileHandle;

  private constructor(path: string, identity: string, handle: FileHandle) {
    this.path = path;
    this.identity = identity;
    this.#handle = handle;
  }

  /**
   * @param path without links
   * @throws CadreError `tool_failed` when a link or something else has taken its place
   */
  static async open(path: string): Promise<OpenedFolder> {
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const now = IS_LINUX ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(path);
      if (now !== path) {
        throw new CadreError('tool_failed', `${path} leads to ${now} by now; nothing was written there.`);
      }
      const { dev, ino } = await handle.stat();
      return new OpenedFolder(path, `${dev} ${ino}`, handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  at(name: string): string {
    return join(IS_LINUX ? `/proc/self/fd/${this.#handle.fd}` : this.path, name);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Of folders with all above them, those that are not there, the outermost first. */
export async function missingFolders(paths: readonly string[]): Promise<string[]> {
  const missing = new Set<string>();
  const look = async (path: string): Promise<void> => {
    if (missing.has(path) || (await exists(path))) return;
    await look(dirname(path));
    missing.add(path);
  };
  for (const path of new Set(paths)) await look(path);
  return [...missing];
}

async function exists(path: string): Promise<boolean> {
  return realpath(path).then(
    () => true,
    () => false,
  );
}
