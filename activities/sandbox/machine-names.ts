import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whoever has a turn needs it for milliseconds. */
const WAIT_MS = 10_000;
const AGAIN_MS = 5;

/** Gives a name free again. */
export type Free = () => Promise<void>;

/**
 * Takes a name that no other process of the machine has: an abstract socket. The kernel gives it to one alone, and takes
 * it back however that one ends. Linux only.
 *
 * @throws the error of the system, `EADDRINUSE` where somebody has it
 */
export async function takeName(name: string): Promise<Free> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: `\0${name}` }, () => resolve());
  });
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** All that are taken; undefined where nobody can tell. */
export function takenNames(): string[] | undefined {
  try {
    const sockets = readFileSync('/proc/net/unix', 'utf8').matchAll(/ @(\S+)$/gm);
    return [...sockets].map(([, name = '']) => name);
  } catch {
    return undefined;
  }
}

/** Turns that this process has: where there are no abstract sockets, no others count. */
const own = new Set<string>();

/**
 * Waits until nobody else has this turn, no other process of the machine and no other work of this one, and takes it.
 *
 * @throws the reason of `signal` when it aborts; the error of the system, `EADDRINUSE` after ten seconds
 */
export async function takeTurn(name: string, signal?: AbortSignal): Promise<Free> {
  for (let waited = 0; ; waited += AGAIN_MS) {
    signal?.throwIfAborted();
    try {
      return await tryTurn(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || waited > WAIT_MS) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

async function tryTurn(name: string): Promise<Free> {
  if (own.has(name)) throw Object.assign(new Error(`${name} is taken here`), { code: 'EADDRINUSE' });
  own.add(name);
  try {
    const free = process.platform === 'linux' ? await takeName(name) : async () => {};
    return async () => {
      await free();
      own.delete(name);
    };
  } catch (error) {
    own.delete(name);
    throw error;
  }
}
