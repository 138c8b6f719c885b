import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CadreError } from '../../protocol/index.ts';

const IS_LINUX = process.platform === 'linux';

/**
 * A folder that is held open: what is done by `at(name)` is done in it, and not in what may have taken its place
 * meanwhile. Where the system has no names for open folders (macOS), it is its path.
 */
export class OpenedFolder {
  readonly path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
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
      return new OpenedFolder(path, handle);
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

/**
 * Makes a folder with all above it that are missing, each inside the one before.
 *
 * @param made takes those that were made, the outermost first
 */
export async function makeFolders(path: string, made: string[]): Promise<void> {
  if (await exists(path)) return;
  const parent = dirname(path);
  await makeFolders(parent, made);
  const folder = await OpenedFolder.open(parent);
  try {
    await mkdir(folder.at(basename(path)));
    made.push(path);
  } finally {
    await folder.close();
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
