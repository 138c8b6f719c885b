import { release } from 'node:os';

/** So many processes may one command have at once; builds on large machines have some hundreds. */
export const MOST_PROCESSES = 1_024;
/** And so many threads, in all of its processes. */
export const MOST_THREADS = 4_096;
/** In blocks of 512 bytes: 16 GiB. */
const MOST_FILE_BLOCKS = 16 * 1024 * 1024 * 2;

/**
 * What the kernel itself holds a command to, each of its processes: no file above 16 GiB, no core dumps. The number of
 * processes is held where it is counted by user namespace; shells disagree on its letter.
 */
export function limitedArgv(argv: readonly string[], privileges: readonly string[]): string[] {
  const isCounted = privileges.includes('--unshare-user') && isCountedByNamespace(release());
  const processes = `(ulimit -u ${MOST_THREADS}) 2>/dev/null && ulimit -u ${MOST_THREADS} || ulimit -p ${MOST_THREADS};`;
  const script = `ulimit -c 0; ulimit -f ${MOST_FILE_BLOCKS}; ${isCounted ? processes : ''} exec "$@"`;
  return ['/bin/sh', '-c', script, 'sh', ...argv];
}

/** Before Linux 5.14 it is all of the user's processes, wherever they are. */
function isCountedByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}
