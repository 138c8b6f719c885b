import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isWithin } from './is-within.ts';
import { ownLinks } from './own-places.ts';
import { PIPES_PREFIX, SHARED_MEMORY } from './pipes-folder.ts';
import { limitedArgv } from './process-limits.ts';
import { realPaths } from './real-paths.ts';
import { isForLoader, type SandboxedCommand } from './sandboxed-command.ts';
import { foldersTo, readOnlyInside, writableRoots } from './writable-places.ts';

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
const SCRATCH = SHARED_MEMORY;

/** Where sockets of others lie in a folder that commands may write to (terminals, displays, keys), and pipes of workers. */
const FOLDERS_OF_OTHERS = new RegExp(`^(tmux-|ssh-|\\.X11-unix$|\\.ICE-unix$|${PIPES_PREFIX})`);

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

/**
 * The command line that runs a command inside the sandbox; bubblewrap reports the inner process, and how it has ended, on
 * descriptor 3.
 */
export function bubblewrapArgv(bubblewrap: Bubblewrap, command: SandboxedCommand): string[] {
  const isWriting = command.mode === 'workspace-write';
  const roots = isWriting
    ? writableRoots(command.workingDirectory, command.open?.writable_roots, command.stateDir)
    : [];
  const readOnly = readOnlyInside(roots, command).filter((path) => existsSync(path));
  const kept = [...roots, ...readOnly, ...ownLinks(roots, command).keys()];
  // As mounts of their own, folders cannot be moved.
  const mounts = [...roots, ...foldersTo(kept, roots)].sort((a, b) => a.length - b.length);
  // The whole as a writable root comes before what makes parts of it private.
  const isAllWritable = roots.includes('/');
  return [
    bubblewrap.program,
    ...(isAllWritable ? ['--bind', '/', '/'] : READ_ALL),
    ...ISOLATION,
    ...(isWriting && command.open?.network ? nameServers() : ['--unshare-net']),
    ...(command.hasTerminal ? [] : [NEW_SESSION]),
    ...bubblewrap.privileges,
    ...mounts.filter((root) => root !== '/').flatMap((root) => ['--bind', root, root]),
    ...foldersOfOthers(roots, command).flatMap((path) => ['--tmpfs', path]),
    ...readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...temporaryFolder(roots, command.environment.TMPDIR),
    ...Object.entries(command.environment)
      .filter(([name]) => isForLoader(name))
      .flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', command.cwd],
    ...['--json-status-fd', '3'],
    '--',
    ...limitedArgv(command.hasTerminal ? inForeground(command.argv) : command.argv, bubblewrap.privileges),
  ];
}

/**
 * What Ctrl-C means is for the program to say: bubblewrap, which it would end, is not to be in the foreground with it. What
 * Ctrl-Z stops goes on at once, as nobody else could say so. Only an interactive bash can do it here: the group that has had
 * the terminal lies outside, so that other shells fail where they give it back, and one that is not interactive keeps it.
 */
const FOREGROUND = `
exec 2>/dev/null
"$@" 2>&1
code=$?
while kill -0 %1; do fg %1 >/dev/null; code=$?; done
exit $code
`;

function inForeground(argv: readonly string[]): readonly string[] {
  const [shell = ''] = argv;
  if (basename(shell) !== 'bash') return argv;
  return [shell, '--noprofile', '--norc', '-i', '-c', FOREGROUND, shell, ...argv];
}

/** `/etc/resolv.conf` is often a link into `/run`, which is hidden. */
function nameServers(): string[] {
  const [file] = realPaths(['/etc/resolv.conf']);
  return file !== undefined && isWithin(file, '/run') ? ['--ro-bind', file, file] : [];
}

function foldersOfOthers(
  roots: readonly string[],
  { workingDirectory, cwd }: Pick<SandboxedCommand, 'workingDirectory' | 'cwd'>,
): string[] {
  const own = [...roots, ...realPaths([workingDirectory, cwd])];
  const isShared = roots.some((root) => root !== '/' && isWithin(SHARED_MEMORY, root));
  return ['/tmp', ...(isShared ? [SHARED_MEMORY] : [])].flatMap((folder) => {
    try {
      return readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && FOLDERS_OF_OTHERS.test(entry.name))
        .map((entry) => join(folder, entry.name))
        .filter((path) => !own.some((one) => isWithin(one, path)));
    } catch {
      return [];
    }
  });
}

function temporaryFolder(roots: readonly string[], wanted: string | undefined): string[] {
  if (roots.length === 0) return ['--setenv', 'TMPDIR', SCRATCH];
  if (wanted === undefined || roots.some((root) => isWithin(wanted, root))) return [];
  return ['--setenv', 'TMPDIR', '/tmp'];
}
