import { readdir, readFile } from 'node:fs/promises';

/** The variable that marks every process of one call. */
export const MARK_NAME = 'CADRE_CALL';

const ROUNDS = 5;
/** In a shorter time a machine does not hand out all its process ids once. */
const NO_WRAP_MS = 2_000;

export interface StrayQuery {
  mark: string;
  /** The command's first process, which led its session. */
  leader: number;
  /** How long the command ran. */
  durationMs: number;
}

/**
 * Kills processes that a command has left behind in sessions of their own, as daemons do: they still carry the
 * mark of the call in their environment. Linux only; one that wiped its environment and left its session stays.
 *
 * @returns how many were killed
 */
export async function killStrays(query: StrayQuery): Promise<number> {
  if (process.platform !== 'linux') return 0;
  let killed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const strays = await findStrays(query);
    if (strays.length === 0) break;
    for (const pid of strays) killQuietly(pid, 'SIGKILL');
    killed += strays.length;
  }
  return killed;
}

async function findStrays({ mark, leader, durationMs }: StrayQuery): Promise<number[]> {
  const last = durationMs < NO_WRAP_MS ? await newestPid() : 0;
  const pids = (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && (last < leader || (pid >= leader && pid <= last)));
  const isStray = await Promise.all(
    pids.map(async (pid) => (await isMarked(pid, mark)) || (await sessionOf(pid)) === leader),
  );
  return pids.filter((_, index) => isStray[index]);
}

/** The id given out last: children of a young process have ids between its own and this one. */
async function newestPid(): Promise<number> {
  const loadavg = await readFile('/proc/loadavg', 'utf8').catch(() => '');
  return Number(loadavg.trim().split(' ').at(-1) ?? 0);
}

async function isMarked(pid: number, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`).catch(() => undefined);
  return environment?.includes(`${MARK_NAME}=${mark}`) ?? false;
}

/** The session of a living process; undefined also for a zombie, which needs no killing. */
async function sessionOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const [state, , , session] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined || state === 'Z' ? undefined : Number(session);
}

/** Whether a process is there and not just a zombie that nobody has collected. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return process.platform !== 'linux' || (await sessionOf(pid)) !== undefined;
}

/** Signals a process, or with a negative number a group; nothing happens when it is gone. */
export function killQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already, or not ours to end.
  }
}
