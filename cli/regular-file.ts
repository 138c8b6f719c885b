import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CadreError } from '../protocol/errors.ts';

/**
 * Has a file read that is read several times over. A pipe gives what it holds once: it is copied first, and the copy is
 * gone afterwards.
 *
 * @param file `-` for standard input
 * @param folder where the copy lies meanwhile, for this person alone to read
 */
export async function withRegularFile<T>(
  { file, cwd, folder }: { file: string; cwd: string; folder: string },
  read: (path: string) => Promise<T>,
): Promise<T> {
  const path = resolve(cwd, file);
  if (file !== '-' && !(await isPipe(path))) return read(path);
  const own = await mkdtemp(join(folder, 'copied-'));
  const copy = join(own, 'input');
  try {
    const source = file === '-' ? process.stdin : (await open(path)).createReadStream();
    await pipeline(source as Readable, createWriteStream(copy, { mode: 0o600 }));
    return await read(copy);
  } catch (error) {
    throw named(error, copy, file === '-' ? 'standard input' : path);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** What is not there, or no file, whoever reads it says so. */
async function isPipe(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isCharacterDevice() || stats?.isBlockDevice()) {
    throw new CadreError('usage', `${path} is a device, which may never end.`, {
      hint: 'Name a file, or - for standard input.',
    });
  }
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

/** The copy is nothing that anybody could look at. */
function named(error: unknown, copy: string, original: string): unknown {
  if (!(error instanceof CadreError)) return error;
  const { code, message, hint, retryable } = error;
  return new CadreError(code, message.replaceAll(copy, original), {
    ...(hint === undefined ? {} : { hint }),
    retryable,
    cause: error,
  });
}
