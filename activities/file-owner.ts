import { createHash } from 'node:crypto';
import { readFile, readlink, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isAlive } from './sandbox/strays.ts';

/** A file of which nobody can tell whether its owner lives is left alone so long: what they stand for takes seconds. */
const FOREIGN_MS = 10 * 60_000;

/**
 * A process in a form that stands in the name of a file: the process table that it is in, its pid there, and when it
 * was started, since a pid is given to another one some day.
 */
export async function ownName(): Promise<string> {
  own ??= nameOf();
  return own;
}

/** Where this process cannot look (another machine, another container), nobody knows. */
async function fateOf(owner: string): Promise<'lives' | 'dead' | 'unknown'> {
  const [table, pid = '', start] = owner.split('-');
  const [ownTable] = (await ownName()).split('-');
  if (table !== ownTable || !/^\d+$/.test(pid)) return 'unknown';
  const lives = (await isAlive(Number(pid))) && (await startOf(Number(pid))) === start;
  return lives ? 'lives' : 'dead';
}

/** Whether a file below CADRE_HOME that names its owner was left by it. */
export async function isLeft(path: string, owner: string): Promise<boolean> {
  const fate = await fateOf(owner);
  if (fate !== 'unknown') return fate === 'dead';
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > FOREIGN_MS;
}

let own: Promise<string> | undefined;

async function nameOf(): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const space = await readlink('/proc/self/ns/pid').catch(() => '');
  const table = createHash('sha256').update(`${hostname()} ${boot} ${space}`).digest('hex').slice(0, 16);
  return `${table}-${process.pid}-${await startOf(process.pid)}`;
}

/** In ticks since the machine started; where there is no /proc, the pid has to do. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
