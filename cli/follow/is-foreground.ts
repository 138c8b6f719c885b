import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Whether the terminal's keys come to this process: one in the background that touches the terminal is stopped. */
export function isForeground(): boolean {
  try {
    const [group, foreground] = process.platform === 'linux' ? fromProc() : fromPs();
    return group === foreground;
  } catch {
    return false;
  }
}

function fromProc(): [string | undefined, string | undefined] {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the program, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[2], fields[5]];
}

function fromPs(): [string | undefined, string | undefined] {
  const line = execFileSync('/bin/ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], {
    encoding: 'utf8',
  });
  const [group, foreground] = line.trim().split(/\s+/);
  return [group, foreground];
}
