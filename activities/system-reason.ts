/** What a system call fails with, in words that follow the name of a file; `DONE` is what was to be done with it. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EEXIST: 'is there already',
  EACCES: 'may not be DONE',
  EPERM: 'may not be DONE',
  EROFS: 'lies on a file system that takes no changes',
  ENOSPC: 'does not fit: the disk is full',
  EDQUOT: 'does not fit: the quota is used up',
  EFBIG: 'would be larger than a file may be',
  EMFILE: 'cannot be DONE now: this worker has too many files open',
  ENFILE: 'cannot be DONE now: this machine has too many files open',
  ENOMEM: 'cannot be DONE now: this machine is short of memory',
  EAGAIN: 'cannot be DONE now: this machine is short of processes or memory',
  EBUSY: 'cannot be DONE now: it is in use',
  ETXTBSY: 'cannot be DONE now: it is a program that runs',
  ESTALE: 'cannot be DONE now: its file server has lost it',
  ETIMEDOUT: 'cannot be DONE now: its file server does not answer',
  EIO: 'cannot be DONE: its disk or file server fails',
  ENOTDIR: 'leads through something that is not a folder',
  EISDIR: 'is a folder, not a file',
  ENOTEMPTY: 'is a folder that is not empty',
  ELOOP: 'leads through too many links',
  ENAMETOOLONG: 'has too long a name',
  EXDEV: 'lies on another file system',
  EINVAL: 'cannot be DONE: its file system does not take that name',
  EILSEQ: 'cannot be DONE: its file system does not take that name',
  E2BIG: 'would be given more than a program can take',
  ENXIO: 'is no ordinary file',
  ENODEV: 'is no ordinary file',
  ERR_INVALID_ARG_VALUE: 'cannot be DONE: its name contains a NUL byte',
};

/** What passes: too many open files, short of memory, busy, a file server that was away. */
const PASSING = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'EBUSY', 'ESTALE', 'ETIMEDOUT']);

const OF_CONNECTIONS = new Set(['connect', 'bind', 'listen']);

/**
 * Why something could not be done with a file, to stand behind its name: models and people read no words of Node's.
 *
 * @param done what was to be done: `read`, `written`
 */
export function systemReason(error: unknown, done: string): string {
  const code = codeOf(error);
  const known = REASONS[code ?? ''];
  if (known !== undefined) return known.replace('DONE', done);
  return `could not be ${done}: ${code ?? (error instanceof Error ? error.message : String(error))}`;
}

/**
 * The words for an error of the system as it was thrown, with the path that it names.
 *
 * @returns undefined for an error that no words are known for
 */
export function inSystemWords(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code === undefined || REASONS[code] === undefined) return undefined;
  const { syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === undefined) return undefined;
  // What Node says of a connection names the other side, which need not be a file.
  if (OF_CONNECTIONS.has(syscall)) return undefined;
  return `${path ?? 'a file'} ${systemReason(error, 'used')} (${code})`;
}

/** Whether it may go well a moment later. */
export function mayPass(error: unknown): boolean {
  return PASSING.has(codeOf(error) ?? '');
}

/** Of the error itself, or of the one that it has come from; errors of a team's tools may hold anything. */
function codeOf(error: unknown, deepest = 8): string | undefined {
  try {
    const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
    if (typeof code === 'string' && /^E[A-Z_]+$/.test(code)) return code;
    return cause === undefined || deepest === 0 ? undefined : codeOf(cause, deepest - 1);
  } catch {
    return undefined;
  }
}
