import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath, stat, statfs } from 'node:fs/promises';
import { CadreError } from '../../protocol/index.ts';
import { isKernelsOwn, isSpecialPlace, openedName, placeOfOpened, UnfitFile } from '../ordinary-file.ts';
import { systemReason } from '../system-reason.ts';
import { shownName } from './path-argument.ts';

/**
 * Opens a file of a person's: never a device or a pipe, which could hang or never end, nor what shows the memory or
 * environment of a process, where keys are.
 *
 * @returns also where it really lies
 * @throws a CadreError that names the path for everything that cannot be read
 */
export async function openOrdinaryFile(
  path: string,
): Promise<{ file: FileHandle; stats: Stats; real: string }> {
  await refuseSpecial(path);
  // Not blocking: opening a pipe without a writer would wait for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) {
      throw new CadreError('tool_failed', `${shownName(path)} is a folder, not a file.`, {
        hint: 'Use list_dir.',
      });
    }
    if (!stats.isFile()) throw special(path);
    // Again with what was really opened: the path may lead elsewhere by now.
    const real = placeOf(file, path);
    const opened = process.platform === 'linux' ? openedName(file.fd) : path;
    if (isSpecialPlace(real) || (await isOfKernel(opened))) throw special(path);
    return { file, stats, real };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * The folder or file that a search starts from, after resolving links.
 *
 * @throws a CadreError when it is missing or special
 */
export async function ordinaryPath(path: string): Promise<{ real: string; stats: Stats }> {
  await refuseSpecial(path);
  const real = await realpath(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  const stats = await stat(real).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (!stats.isFile() && !stats.isDirectory()) throw special(path);
  return { real, stats };
}

async function refuseSpecial(path: string): Promise<void> {
  // What is not there is told of when it is opened.
  const real = await realpath(path).catch(() => path);
  if (isSpecialPlace(real) || (await isOfKernel(path))) throw special(path);
}

async function isOfKernel(path: string): Promise<boolean> {
  const system = await statfs(path).catch(() => undefined);
  return system !== undefined && isKernelsOwn(system.type);
}

/** Others decide by it whose file it is: where it cannot be told, nothing is read. */
function placeOf(file: FileHandle, path: string): string {
  try {
    return placeOfOpened(file.fd, path);
  } catch (error) {
    if (error instanceof UnfitFile)
      throw new CadreError('tool_failed', `${shownName(path)} ${error.message}.`);
    throw unreadable(path, error);
  }
}

function special(path: string): CadreError {
  return new CadreError(
    'tool_failed',
    `${shownName(path)} is no ordinary file: devices, pipes and what the kernel shows are not read.`,
  );
}

/** What the system says, in words, with the path. */
export function unreadable(path: string, error: unknown): CadreError {
  return new CadreError('tool_failed', `${shownName(path)} ${systemReason(error, 'read')}.`, {
    cause: error,
  });
}
