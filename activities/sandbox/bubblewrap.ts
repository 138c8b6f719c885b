import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { SandboxMode } from '../../protocol/index.ts';

/** What bubblewrap gets to isolate with, as far as this machine allows it. */
export interface Bubblewrap {
  program: string;
  /** How capabilities are given up: by a user namespace, or by dropping them where we are root. */
  privileges: readonly string[];
}

/** Inside a writable root these stay as they are: what is in them decides what runs later, outside the sandbox. */
const PROTECTED_NAMES = ['.git', '.cadre', '.codex', '.claude', '.agents'] as const;

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
/** Always: see no other process, reach no network, and end with whoever started it. */
const ISOLATION: readonly string[] = [
  ...['--dev', '/dev'],
  ...['--proc', '/proc'],
  ...PARTS_OF_PROC.flatMap((part) => ['--ro-bind-try', part, part]),
  ...['--tmpfs', '/run'],
  ...PARTS_OF_RUN.flatMap((part) => ['--ro-bind-try', part, part]),
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net'],
  '--die-with-parent',
];
/** Out of reach of a terminal of others. A command with one of its own stays with that: it can only type to itself. */
const NEW_SESSION = '--new-session';
/** What every call uses, to find out whether it works. */
export const BASE_ARGUMENTS: readonly string[] = [...READ_ALL, ...ISOLATION, NEW_SESSION];

export interface SandboxedCommand {
  mode: Exclude<SandboxMode, 'danger-full-access'>;
  /** The agent's: what `workspace-write` may write to, beside `/tmp`. */
  workingDirectory: string;
  /** Where the command starts. */
  cwd: string;
  /** Never writable, wherever it lies. */
  stateDir: string;
  environment: Readonly<Record<string, string>>;
  argv: readonly string[];
  /** It runs on a terminal that was opened for it alone. */
  hasTerminal?: boolean;
}

/** The command line that runs a command inside the sandbox; bubblewrap reports the inner process on descriptor 3. */
export function bubblewrapArgv(bubblewrap: Bubblewrap, command: SandboxedCommand): string[] {
  const roots = command.mode === 'workspace-write' ? writableRoots(command.workingDirectory) : [];
  // The whole as a writable root comes before what makes parts of it private.
  const isAllWritable = roots.includes('/');
  return [
    bubblewrap.program,
    ...(isAllWritable ? ['--bind', '/', '/'] : READ_ALL),
    ...ISOLATION,
    ...(command.hasTerminal ? [] : [NEW_SESSION]),
    ...bubblewrap.privileges,
    ...roots.filter((root) => root !== '/').flatMap((root) => ['--bind', root, root]),
    ...socketFolders().flatMap((path) => ['--tmpfs', path]),
    ...readOnlyInside(roots, command.stateDir).flatMap((path) => ['--ro-bind', path, path]),
    ...temporaryFolder(roots, command.environment.TMPDIR),
    ...['--chdir', command.cwd],
    ...['--info-fd', '3'],
    '--',
    ...command.argv,
  ];
}

/** Outer ones first, so that an inner one is not covered again. What belongs to the kernel is never one. */
export function writableRoots(workingDirectory: string): string[] {
  const roots = ['/tmp', workingDirectory]
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path));
  return [...new Set(roots)]
    .filter(
      (root) =>
        !['/proc', '/sys'].some((kernel) => isWithin(root, kernel)) && !['/dev', '/run'].includes(root),
    )
    .sort((a, b) => a.length - b.length);
}

/** Whether a command in `workspace-write` could write to a folder, links resolved. */
export function isWritable(folder: string, workingDirectory: string, stateDir: string): boolean {
  const roots = writableRoots(workingDirectory);
  if (!roots.some((root) => isWithin(folder, root))) return false;
  return !readOnlyInside(roots, stateDir).some((path) => isWithin(folder, path));
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
  const named = roots.flatMap((root) => PROTECTED_NAMES.map((name) => join(root, name)));
  const existing = [...named, stateDir].filter((path) => existsSync(path)).map((path) => realpathSync(path));
  return [...new Set(existing)].filter((path) => roots.some((root) => isWithin(path, root)));
}

function temporaryFolder(roots: readonly string[], wanted: string | undefined): string[] {
  if (roots.length === 0) return ['--setenv', 'TMPDIR', SCRATCH];
  if (wanted === undefined || roots.some((root) => isWithin(wanted, root))) return [];
  return ['--setenv', 'TMPDIR', '/tmp'];
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
