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

/** Of each turn, when the last in line in this process has had it. */
const lines = new Map<string, Promise<void>>();

/**
 * Waits until nobody else has this turn, no other process of the machine and no other work of this one, and takes it. In a
 * process it comes in the order of asking. Where there are no abstract sockets, other processes do not count.
 *
 * @throws the reason of `signal` when it aborts; the error of the system, `EADDRINUSE` where another process has it for ten
 *   seconds
 */
export async function takeTurn(name: string, signal?: AbortSignal): Promise<Free> {
  const ahead = lines.get(name);
  const mine = Promise.withResolvers<void>();
  lines.set(name, mine.promise);
  await ahead;
  try {
    const free = process.platform === 'linux' ? await takeNameSoon(name, signal) : async () => {};
    return () => free().finally(mine.resolve);
  } catch (error) {
    mine.resolve();
    throw error;
  }
}

async function takeNameSoon(name: string, signal: AbortSignal | undefined): Promise<Free> {
  for (let waited = 0; ; waited += AGAIN_MS) {
    signal?.throwIfAborted();
    try {
      return await takeName(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || waited > WAIT_MS) throw error;
    }
    await sleep(AGAIN_MS);
  }
}
