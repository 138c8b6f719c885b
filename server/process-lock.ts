import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { processStart } from './process-identity.ts';

/** Who holds a lock. */
export interface LockHolder {
  pid: number;
  /** Start of that process, so that a pid which was given to another process is told apart. */
  start: string;
  host: string;
  token: string;
}

const TOUCH_MS = 5_000;
/** On another host nobody can look at the process; its lock counts while the file is touched. */
const FOREIGN_STALE_MS = 30_000;
/** Taking over is a matter of milliseconds; who started to and is not done by then has died. */
const TAKEOVER_STALE_MS = 10_000;

/** A lock file with the pid of its holder; it frees itself when that process is gone. */
export class ProcessLock {
  readonly path: string;
  readonly #content: string;
  readonly #touching: NodeJS.Timeout;

  private constructor(path: string, content: string) {
    this.path = path;
    this.#content = content;
    this.#touching = setInterval(() => {
      const now = new Date();
      utimes(path, now, now).catch(() => {});
    }, TOUCH_MS).unref();
  }

  /** Takes the lock; undefined when somebody alive holds it. */
  static async acquire(path: string): Promise<ProcessLock | undefined> {
    const start = (await processStart(process.pid)) ?? 'unknown';
    const holder: LockHolder = { pid: process.pid, start, host: hostname(), token: randomUUID() };
    const content = JSON.stringify(holder);
    const draft = `${path}.${holder.token}`;
    try {
      await writeFile(draft, content);
      // A link appears whole or not at all, and never replaces what is there.
      if (await succeeds(link(draft, path), 'EEXIST')) return new ProcessLock(path, content);
      if ((await lockHolder(path)) !== undefined) return undefined;
      return (await takeOver(path, draft)) ? new ProcessLock(path, content) : undefined;
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** Gives the lock back, unless somebody has taken it over. */
  async release(): Promise<void> {
    clearInterval(this.#touching);
    const content = await readFile(this.path, 'utf8').catch(() => undefined);
    if (content === this.#content) await rm(this.path, { force: true });
  }
}

/** The living holder of a lock; undefined when it is free, or its holder is dead. */
export async function lockHolder(path: string): Promise<LockHolder | undefined> {
  const holder = await readHolder(path);
  return typeof holder === 'object' && (await holds(holder, path)) ? holder : undefined;
}

async function holds(holder: LockHolder, path: string): Promise<boolean> {
  if (holder.host !== hostname()) {
    const touched = await stat(path).catch(() => undefined);
    return touched !== undefined && Date.now() - touched.mtimeMs < FOREIGN_STALE_MS;
  }
  return (await processStart(holder.pid)) === holder.start;
}

/** Resolves when a lock is free; false when the signal came first. */
export async function lockFreed(path: string, everyMs: number, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if ((await lockHolder(path)) === undefined) return true;
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
  return false;
}

/**
 * Replaces the lock of a dead holder. Only one process at a time may try, and it looks again first: between seeing
 * a dead holder and acting on it, another one may have taken the lock. Only a lock that is there stays as it is meanwhile:
 * one that was given back is anybody's again.
 */
async function takeOver(path: string, draft: string): Promise<boolean> {
  const guard = `${path}.takeover`;
  if (!(await succeeds(link(draft, guard), 'EEXIST'))) {
    const begun = await stat(guard).catch(() => undefined);
    if (begun !== undefined && Date.now() - begun.mtimeMs > TAKEOVER_STALE_MS)
      await rm(guard, { force: true });
    return false;
  }
  try {
    const holder = await readHolder(path);
    if (holder === 'none') return await succeeds(link(draft, path), 'EEXIST');
    if (holder !== 'broken' && (await holds(holder, path))) return false;
    await rename(draft, path);
    return true;
  } finally {
    await rm(guard, { force: true });
  }
}

async function readHolder(path: string): Promise<LockHolder | 'none' | 'broken'> {
  try {
    const holder = JSON.parse(await readFile(path, 'utf8'));
    return typeof holder?.pid === 'number' && typeof holder.start === 'string' ? holder : 'broken';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'none' : 'broken';
  }
}

/** False for the one error that is expected, true for none. */
async function succeeds(action: Promise<void>, expected: string): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === expected) return false;
    throw error;
  }
}
