import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxMode } from '../../protocol/index.ts';
import { upToRepository } from './has-repository.ts';
import { isWithin } from './is-within.ts';
import { limitedArgv } from './process-limits.ts';
import { protectedNow } from './protected-paths.ts';

/** What bubblewrap gets to isolate with, as far as this machine allows it. */
export interface Bubblewrap {
  program: string;
  /** How capabilities are given up: by a user namespace, or by dropping them where we are root. */
  privileges: readonly string[];
}

/**
 * `/run` holds the sockets through which a command could have others work for it, outside the sandbox (container
 * engines, the session bus). Programs live there too on some systems, so these parts stay.
 */
const PARTS_OF_RUN = ['/run/current-system', '/run/wrappers', '/run/opengl-driver'];

/** Through these root could set up the machine, also without any capability. */
const PARTS_OF_PROC = ['acpi', 'bus', 'fs', 'irq', 'scsi', 'sys', 'sysrq-trigger'].map(
  (part) => `/proc/${part}`,
);

/** A private folder in memory: where temporary files go when nothing else may be written. */
const SCRATCH = '/dev/shm';

/** Where sockets of others lie in a folder that commands may write to: terminals, displays, keys. */
const SOCKET_FOLDERS = /^(tmux-|ssh-|\.X11-unix$|\.ICE-unix$)/;

const READ_ALL = ['--ro-bind', '/', '/'];
/** Always: see no other process, and end with whoever started it. */
const ISOLATION: readonly string[] = [
  ...['--dev', '/dev'],
  ...['--proc', '/proc'],
  ...PARTS_OF_PROC.flatMap((part) => ['--ro-bind-try', part, part]),
  ...['--tmpfs', '/run'],
  ...PARTS_OF_RUN.flatMap((part) => ['--ro-bind-try', part, part]),
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts'],
  '--die-with-parent',
];
/** Out of reach of a terminal of others. A command with one of its own stays with that: it can only type to itself. */
const NEW_SESSION = '--new-session';
/** What every call uses, to find out whether it works. */
export const BASE_ARGUMENTS: readonly string[] = [...READ_ALL, ...ISOLATION, '--unshare-net', NEW_SESSION];

export interface SandboxedCommand {
  mode: Exclude<SandboxMode, 'danger-full-access'>;
  /** The agent's: what `workspace-write` may write to, beside `/tmp`. */
  workingDirectory: string;
  /** What it may also write to, and whether it reaches the network: in `workspace-write` alone. */
  open?: { writable_roots: readonly string[]; network: boolean } | undefined;
  /** Where the command starts. */
  cwd: string;
  /** Never writable, wherever it lies. */
  stateDir: string;
  environment: Readonly<Record<string, string>>;
  argv: readonly string[];
  /** It runs on a terminal that was opened for it alone. */
  hasTerminal?: boolean;
}

/**
 * Whether a variable says which libraries programs load. What starts the sandbox must not get it: a command could put
 * there what the next call runs outside.
 */
export function isForLoader(name: string): boolean {
  return name.startsWith('LD_');
}

/** The command line that runs a command inside the sandbox; bubblewrap reports the inner process on descriptor 3. */
export function bubblewrapArgv(bubblewrap: Bubblewrap, command: SandboxedCommand): string[] {
  const isWriting = command.mode === 'workspace-write';
  const roots = isWriting ? writableRoots(command.workingDirectory, command.open?.writable_roots) : [];
  // The whole as a writable root comes before what makes parts of it private.
  const isAllWritable = roots.includes('/');
  return [
    bubblewrap.program,
    ...(isAllWritable ? ['--bind', '/', '/'] : READ_ALL),
    ...ISOLATION,
    ...(isWriting && command.open?.network ? nameServers() : ['--unshare-net']),
    ...(command.hasTerminal ? [] : [NEW_SESSION]),
    ...bubblewrap.privileges,
    ...roots.filter((root) => root !== '/').flatMap((root) => ['--bind', root, root]),
    ...socketFolders().flatMap((path) => ['--tmpfs', path]),
    ...readOnlyInside(roots, command.stateDir).flatMap((path) => ['--ro-bind', path, path]),
    ...temporaryFolder(roots, command.environment.TMPDIR),
    ...Object.entries(command.environment)
      .filter(([name]) => isForLoader(name))
      .flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', command.cwd],
    ...['--info-fd', '3'],
    '--',
    ...limitedArgv(command.argv, bubblewrap.privileges),
  ];
}

/**
 * Outer ones first, so that an inner one is not covered again. What belongs to the kernel is never one. Of a repository
 * that lies in one, the folders above the working directory are some of their own: so they stay where they are, and
 * what is protected in them, too.
 */
export function writableRoots(workingDirectory: string, more: readonly string[] = []): string[] {
  const named = realPaths(['/tmp', workingDirectory, ...more]).filter((root) => !isOfKernel(root));
  const above = realPaths([workingDirectory]).flatMap(upToRepository);
  const inside = above.filter((folder) => named.some((root) => isWithin(folder, root)));
  return [...new Set([...named, ...inside])].sort((a, b) => a.length - b.length);
}

/** `/etc/resolv.conf` is often a link into `/run`, which is hidden. */
function nameServers(): string[] {
  const [file] = realPaths(['/etc/resolv.conf']);
  return file !== undefined && isWithin(file, '/run') ? ['--ro-bind', file, file] : [];
}

function realPaths(paths: readonly string[]): string[] {
  return paths.filter((path) => existsSync(path)).map((path) => realpathSync(path));
}

function isOfKernel(root: string): boolean {
  return ['/proc', '/sys'].some((kernel) => isWithin(root, kernel)) || ['/dev', '/run'].includes(root);
}

/** Where a command in `workspace-write` could write, as it is now. */
export interface WritablePlaces {
  /** The innermost writable root that a path lies in, links resolved; undefined where it lies in none. */
  rootOf(path: string): string | undefined;
  /** Whether something could be made in a folder, links resolved. */
  has(folder: string): boolean;
}

export function writablePlaces(
  workingDirectory: string,
  stateDir: string,
  more: readonly string[] = [],
): WritablePlaces {
  const roots = writableRoots(workingDirectory, more);
  const readOnly = readOnlyInside(roots, stateDir);
  const rootOf = (path: string) => roots.findLast((root) => isWithin(path, root));
  return {
    rootOf,
    has: (folder) => rootOf(folder) !== undefined && !readOnly.some((path) => isWithin(folder, path)),
  };
}

function socketFolders(): string[] {
  try {
    return readdirSync('/tmp', { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && SOCKET_FOLDERS.test(entry.name))
      .map((entry) => join('/tmp', entry.name));
  } catch {
    return [];
  }
}

function readOnlyInside(roots: readonly string[], stateDir: string): string[] {
  const state = existsSync(stateDir) ? [realpathSync(stateDir)] : [];
  const found = [...roots.flatMap(protectedNow), ...state];
  return [...new Set(found)].filter((path) => roots.some((root) => isWithin(path, root)));
}

function temporaryFolder(roots: readonly string[], wanted: string | undefined): string[] {
  if (roots.length === 0) return ['--setenv', 'TMPDIR', SCRATCH];
  if (wanted === undefined || roots.some((root) => isWithin(wanted, root))) return [];
  return ['--setenv', 'TMPDIR', '/tmp'];
}
