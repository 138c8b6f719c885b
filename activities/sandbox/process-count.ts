import { readdirSync, readFileSync } from 'node:fs';
import { MOST_PROCESSES, MOST_THREADS } from './process-limits.ts';

export interface ProcessCount {
  processes: number;
  threads: number;
}

const LOOK_MS = 200;

/**
 * Looks several times a second at how many processes a command has, and tells once when they are too many: nothing else
 * that is to be had without rights would count those of root, and of one command alone. Looking at each process is dear,
 * so that waits until there are enough more in the whole machine. Linux only.
 *
 * @param leader gives the process whose descendants are counted, with all in its session; undefined while there is none
 * @returns what ends the looking
 */
export function watchProcesses(
  leader: () => number | undefined,
  tooMany: (count: ProcessCount) => void,
): () => void {
  let fewest = Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    const all = threadsOfMachine();
    fewest = Math.min(fewest, all);
    const top = leader();
    if (top === undefined || all - fewest < MOST_PROCESSES / 2) return;
    const count = countProcesses(top);
    if (count.processes <= MOST_PROCESSES && count.threads <= MOST_THREADS) return;
    clearInterval(timer);
    tooMany(count);
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function threadsOfMachine(): number {
  return Number(/\/(\d+)/.exec(readOr('/proc/loadavg'))?.[1] ?? 0);
}

function countProcesses(top: number): ProcessCount {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statOf(name) : []));
  const children = Map.groupBy(all, ({ parent }) => parent);
  const counted = new Map(
    all.filter(({ pid, session }) => pid === top || session === top).map((one) => [one.pid, one]),
  );
  for (const { pid } of counted.values()) {
    for (const child of children.get(pid) ?? []) counted.set(child.pid, child);
  }
  return {
    processes: counted.size,
    threads: [...counted.values()].reduce((sum, { threads }) => sum + threads, 0),
  };
}

interface Stat {
  pid: number;
  parent: number;
  session: number;
  threads: number;
}

function statOf(name: string): Stat[] {
  const stat = readOr(`/proc/${name}/stat`);
  const [state, parent, , session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === undefined || parent === undefined || state === 'Z') return [];
  return [{ pid: Number(name), parent: Number(parent), session: Number(session), threads: Number(rest[13]) }];
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
