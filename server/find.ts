import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { atLeast, CadreError } from '../protocol/index.ts';
import { fetchProgram } from './fetch.ts';
import { ownPath } from './own-path.ts';
import { OLDEST_SERVER, type PinnedProgram, TEMPORAL } from './pinned.ts';

const run = promisify(execFile);

export interface Program {
  path: string;
  /** Version of the server inside, e.g. 1.32.0. */
  version: string;
}

export interface FindOptions {
  cacheDir: string;
  onProgress?: ((text: string) => void) | undefined;
  /** As PATH is written; default: PATH, without what a repository may have filled. */
  searchPath?: string | undefined;
}

const VERSION_MS = 10_000;

/** Where a pinned program is kept. */
export function pinnedPath(cacheDir: string, { name, version }: PinnedProgram): string {
  return join(cacheDir, `${name}-${version}`, name);
}

/**
 * The `temporal` program: on PATH if it is recent enough, else the pinned one from the cache, else brought.
 *
 * @throws CadreError `server_unavailable`, or `home_unwritable` when there is no room for it
 */
export async function findProgram(options: FindOptions, pinned = TEMPORAL): Promise<Program> {
  const { cacheDir, onProgress } = options;
  const own = await programHere(options, pinned);
  if (own !== undefined) return own;
  const target = pinnedPath(cacheDir, pinned);
  await fetchProgram(pinned, { target, onProgress });
  const brought = await programAt(target);
  if (brought === undefined) {
    throw new CadreError('server_unavailable', `${target} was brought, but it does not run here.`, {
      hint: `Try \`${target} --version\`. A folder from which nothing may be run is changed with CADRE_CACHE.`,
    });
  }
  return brought;
}

/** The same where nothing has to be brought for it. */
export async function programHere(options: FindOptions, pinned = TEMPORAL): Promise<Program | undefined> {
  const { cacheDir, onProgress, searchPath = ownPath() } = options;
  return (await findOnPath(searchPath, onProgress)) ?? programAt(pinnedPath(cacheDir, pinned));
}

async function findOnPath(
  searchPath: string,
  onProgress: FindOptions['onProgress'],
): Promise<Program | undefined> {
  for (const folder of searchPath.split(delimiter).filter((folder) => folder !== '')) {
    const path = join(folder, 'temporal');
    const program = await programAt(path);
    if (program === undefined) continue;
    if (atLeast(program.version, OLDEST_SERVER)) return program;
    onProgress?.(`Passing over ${path}: its server ${program.version} is older than ${OLDEST_SERVER}.`);
  }
  return undefined;
}

/** Undefined where there is no program that says its version. */
async function programAt(path: string): Promise<Program | undefined> {
  try {
    await access(path, constants.X_OK);
    const { stdout } = await run(path, ['--version'], { timeout: VERSION_MS, killSignal: 'SIGKILL' });
    const version = serverVersion(stdout);
    return version === undefined ? undefined : { path, version };
  } catch {
    return undefined;
  }
}

/** From `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`. */
export function serverVersion(text: string): string | undefined {
  return text.match(/\bServer v?(\d+\.\d+\.\d+)/i)?.[1];
}
