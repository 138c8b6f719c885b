import { spawn } from 'node:child_process';
import { release } from 'node:os';
import { MOST_THREADS } from './process-limits.ts';

/**
 * Has the kernel refuse more than so many processes and threads inside a sandbox that root has started: of root's it
 * counts none, but the ids of a pid namespace can be limited since Linux 6.14. Before that the same would limit the
 * whole machine. Where it is not allowed, or there is no nsenter, counting has to do.
 */
export function limitNamespace(innerPid: number): void {
  if (process.getuid?.() !== 0 || !isOwnOfNamespace(release())) return;
  const script = `echo ${MOST_THREADS} > /proc/sys/kernel/pid_max`;
  const child = spawn('nsenter', ['-t', String(innerPid), '-p', '/bin/sh', '-c', script], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin' },
  });
  child.on('error', () => {});
  child.unref();
}

function isOwnOfNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 14);
}
