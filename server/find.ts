import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { fetchProgram } from './fetch.ts';
import { OLDEST_SERVER, PINNED_VERSION } from './pinned.ts';

const run = promisify(execFile);

export interface Program {
  path: string;
  /** Version of the server inside, e.g. 1.32.0. */
  version: string;
}

export interface FindOptions {
  cacheDir: string;
  onProgress?: ((text: string) => void) | undefined;
  /** For tests; default: PATH. */
  searchPath?: string;
}

/** Where the pinned program is kept. */
export function pinnedPath(cacheDir: string): string {
  return join(cacheDir, `temporal-${PINNED_VERSION}`, 'temporal');
}

/**
 * The `temporal` program: on PATH if it is recent enough, else the pinned one from the cache, else brought.
 *
 * @throws CadreError `server_unavailable`
 */
export async function findProgram(options: FindOptions): Promise<Program> {
  const pinned = pinnedPath(options.cacheDir);
  const own = (await findOnPath(options.searchPath ?? process.env.PATH ?? '')) ?? (await programAt(pinned));
  if (own !== undefined) return own;
  await fetchProgram({ target: pinned, onProgress: options.onProgress });
  const brought = await programAt(pinned);
  if (brought === undefined) throw new Error(`${pinned} was brought, but does not run here`);
  return brought;
}

async function findOnPath(searchPath: string): Promise<Program | undefined> {
  for (const folder of searchPath.split(delimiter).filter((folder) => folder !== '')) {
    const path = join(folder, 'temporal');
    if (!(await isExecutable(path))) continue;
    const program = await programAt(path);
    if (program !== undefined && atLeast(program.version, OLDEST_SERVER)) return program;
  }
  return undefined;
}

async function programAt(path: string): Promise<Program | undefined> {
  if (!(await isExecutable(path))) return undefined;
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 20_000 });
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

export function atLeast(version: string, oldest: string): boolean {
  const [a, b] = [version, oldest].map((text) => text.split('.').map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
