import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * When a process was started, in a form that only serves to compare; undefined when there is no such process.
 * Together with the pid it names one process for good: a pid alone is given to another one some day.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return process.platform === 'linux' ? linuxStart(pid) : portableStart(pid);
}

/** State and start time stand in /proc behind the name, which may itself hold blanks and brackets. */
async function linuxStart(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, start] = [fields[0], fields[19]];
  // A zombie is dead; nobody has asked for its exit code yet.
  if (state === 'Z' || state === 'X' || start === undefined) return undefined;
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return `${boot.trim()}/${start}`;
}

async function portableStart(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [state = '', ...start] = stdout.trim().split(/\s+/);
    return start.length === 0 || state.startsWith('Z') ? undefined : start.join(' ');
  } catch {
    return undefined;
  }
}
