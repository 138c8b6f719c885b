import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { CadreError } from '../protocol/errors.ts';

const paths = envPaths('cadre', { suffix: '' });
/** On Linux that is the state folder of the XDG convention; other platforms have none. */
const state = process.platform === 'linux' ? paths.log : paths.data;

type Environment = Readonly<Record<string, string | undefined>>;

/** CADRE_HOME: where this person's server, sessions and handles live; by default the platform's state folder. */
export function cadreHome(environment: Environment = process.env): string {
  return resolve(environment.CADRE_HOME || state);
}

/** Where what was fetched is kept; by default the platform's cache folder. */
export function cacheDir(environment: Environment = process.env): string {
  return resolve(environment.CADRE_CACHE || paths.cache);
}

/**
 * Makes sure that a folder of CADRE_HOME exists and can be written.
 *
 * @throws CadreError `home_unwritable`
 */
export function ensureFolder(home: string, ...parts: string[]): string {
  const folder = join(home, ...parts);
  try {
    makeWritable(folder);
    return folder;
  } catch (error) {
    throw unwritable(home, error);
  }
}

/**
 * Makes sure that a folder for what is fetched exists and can be written.
 *
 * @throws CadreError `home_unwritable`
 */
export function ensureCacheFolder(folder: string): void {
  try {
    makeWritable(folder);
  } catch (error) {
    throw new CadreError(
      'home_unwritable',
      `The cache cannot be written: ${folder} (${reasonOf(folder, error)}).`,
      {
        hint: 'Set CADRE_CACHE to a folder of yours with 200 MB of free space, or mend this one.',
        cause: error,
      },
    );
  }
}

function makeWritable(folder: string): void {
  makeFolder(folder);
  accessSync(folder, constants.W_OK | constants.X_OK);
}

/** As `mkdir -p`. Node's own recursive mkdir never ends where even a file system's root refuses, as /proc does. */
function makeFolder(folder: string): void {
  const make = () => mkdirSync(folder, { mode: 0o700 });
  try {
    make();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && isFolder(folder)) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeFolder(dirname(folder));
    make();
  }
}

/** The error for a CADRE_HOME in which nothing can be kept. */
export function unwritable(home: string, cause: unknown): CadreError {
  return new CadreError(
    'home_unwritable',
    `CADRE_HOME cannot be written: ${home} (${reasonOf(home, cause)}).`,
    {
      hint: 'Set CADRE_HOME to a folder of yours with some free space, or mend this one.',
      cause,
    },
  );
}

/** @throws CadreError `home_unwritable` where a folder stands in the way of a file */
export function refuseFolder(path: string): void {
  if (!isFolder(path)) return;
  throw new CadreError('home_unwritable', `${path} is a folder, and Cadre keeps a file there.`, {
    hint: 'Move it away, or set CADRE_HOME to another folder.',
  });
}

function reasonOf(home: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return isFolder(home) ? 'something in it is in the way' : 'it is not a folder';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'ENOENT':
      return 'no folder can be made there';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    default:
      return cause instanceof Error ? cause.message : String(cause);
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
