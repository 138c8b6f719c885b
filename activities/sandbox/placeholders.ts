import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmdirSync, utimesSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/index.ts';
import { PLACEHOLDER_TIME } from '../../protocol/placeholders.ts';
import { isPlaceholder } from './is-placeholder.ts';
import { isWithin } from './is-within.ts';
import { protectedNames, protectedPaths } from './protected-paths.ts';
import { realPath } from './real-paths.ts';

const OURS = new Date(PLACEHOLDER_TIME);
/** Where we cannot make a folder, the command cannot make it either. */
const OUT_OF_REACH = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT', 'ELOOP']);
const LOCK_MS = 10_000;
const AGAIN_MS = 5;

/**
 * Makes what is protected in a folder and missing, as empty folders that can be mounted read-only, and takes them away
 * when no command, of whatever process, runs beside them any more. Whose turn it is to change them, and who needs them,
 * is told by abstract sockets: the kernel gives a name to one process alone, and takes it back however that one ends.
 * What a killed worker leaves goes with the next command that ends in the folder.
 *
 * @param names of what is protected in the folder, those that are made
 * @returns what gives the folder free again
 * @throws CadreError when the folder cannot be protected
 */
export async function holdPlaceholders(
  folder: string,
  names = protectedNames(folder),
): Promise<() => Promise<void>> {
  const name = `cadre-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`;
  const holder = await inTurn(name, folder, async () => {
    const server = await listen(`${name}-held-${randomUUID()}`);
    try {
      for (const path of missingIn(folder, names)) makePlaceholder(path);
    } catch (error) {
      await close(server);
      throw error;
    }
    return server;
  });
  return () =>
    inTurn(name, folder, async () => {
      await close(holder);
      if (isHeld(name)) return;
      const all = [...new Set([...protectedNames(folder), ...names])];
      for (const path of protectedPaths(folder, all)) removePlaceholder(path);
    });
}

/** What a link that leads out of the folder stands for is none of its business. */
function missingIn(folder: string, names: readonly string[]): string[] {
  return protectedPaths(folder, names).filter((path) => !existsSync(path) && liesIn(path, folder));
}

/** Also by what its own folder really is: a link on the way may lead out. */
function liesIn(path: string, folder: string): boolean {
  const above = dirname(path);
  return isWithin(path, folder) && isWithin(realPath(above) ?? '', folder);
}

function makePlaceholder(path: string): void {
  try {
    mkdirSync(path);
    utimesSync(path, OURS, OURS);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || OUT_OF_REACH.has(code)) return;
    throw cannotProtect(path, code, error);
  }
}

/** Only one that is still as it was made; whatever is in it is somebody's. */
function removePlaceholder(path: string): void {
  try {
    if (isPlaceholder(path)) rmdirSync(path);
  } catch {
    // In use by now.
  }
}

/** Whether any process holds the folder; where nobody can tell, it counts as held. */
function isHeld(name: string): boolean {
  try {
    return readFileSync('/proc/net/unix', 'utf8').includes(`@${name}-held-`);
  } catch {
    return true;
  }
}

/** One at a time, among all processes of the machine. */
async function inTurn<T>(name: string, folder: string, work: () => Promise<T>): Promise<T> {
  const turn = await turnFor(name, folder);
  try {
    return await work();
  } finally {
    await close(turn);
  }
}

async function turnFor(name: string, folder: string): Promise<Server> {
  for (let waited = 0; ; waited += AGAIN_MS) {
    try {
      return await listen(`${name}-turn`);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || waited > LOCK_MS) throw cannotProtect(folder, code, error);
    }
    await sleep(AGAIN_MS);
  }
}

function listen(name: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: `\0${name}` }, () => resolve(server.unref()));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function cannotProtect(path: string, code: string, cause: unknown): CadreError {
  return new CadreError('tool_failed', `${path} could not be protected from the command: ${code}`, {
    hint: 'Nothing was run. Try again.',
    cause,
  });
}
