import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isWithin } from './is-within.ts';
import { limitedArgv } from './process-limits.ts';
import { protectedNames, protectedNow, protectedPaths } from './protected-paths.ts';
import { type Contained, isForLoader, type SandboxedCommand } from './sandboxed-command.ts';
import { type SeatbeltProfile, type SeatbeltRules, seatbeltProfile } from './seatbelt-profile.ts';
import { watchdog } from './watchdog.ts';
import { writableRoots } from './writable-places.ts';

/** Only this one: what lies elsewhere under that name may be anybody's. */
export const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** Where the sockets of others lie: of keys, terminals, editors, the system. */
const FOLDERS_OF_OTHERS = ['/private/tmp', '/private/var'];

/** Readies a command for `sandbox-exec`. Nothing has to be made or put back: its rules hold for paths. */
export async function containBySeatbelt(
  command: SandboxedCommand,
  program: string = SANDBOX_EXEC,
): Promise<Contained> {
  const workerFolder = realpathSync.native(watchdog.folder);
  if (command.mode === 'workspace-write') {
    const rules = workspaceRules(command, workerFolder);
    const environment = withTemporaryFolder(command.environment, rules.writable);
    const argv = sandboxExecArgv(program, seatbeltProfile(rules), environment, command.argv);
    return { argv, hasNamespace: false, release: async () => [] };
  }
  // In the folder of the worker: it goes with that, also when the worker is killed.
  const scratch = await mkdtemp(join(workerFolder, 'scratch-'));
  const profile = seatbeltProfile(readOnlyRules(scratch, command.hasTerminal));
  return {
    argv: sandboxExecArgv(program, profile, { ...command.environment, TMPDIR: scratch }, command.argv),
    hasNamespace: false,
    async release() {
      await rm(scratch, { recursive: true, force: true }).catch(() => {});
      return [];
    },
  };
}

export function readOnlyRules(scratch: string, hasTerminal = false): SeatbeltRules {
  return { writable: [scratch], guarded: [], readOnly: [], sockets: [scratch], network: false, hasTerminal };
}

/** @param workerFolder where the worker's own pipes are: a link in the place of one would have it write elsewhere */
export function workspaceRules(
  { workingDirectory, open, stateDir, readOnly: own = [], hasTerminal = false }: SandboxedCommand,
  workerFolder: string,
): SeatbeltRules {
  const asked = [workingDirectory, ...(open?.writable_roots ?? [])];
  const writable = writableRoots(workingDirectory, open?.writable_roots, stateDir).map(truePath);
  // What is asked for and missing is not made either: a link there would open another folder to the next command.
  const missing = asked.filter((path) => !existsSync(path));
  const readOnly = [
    ...writable.flatMap(protectedIn),
    ...[stateDir, ...own, workerFolder, ...missing].map(truePath),
  ];
  return {
    writable,
    guarded: writable,
    readOnly: [...new Set(readOnly)],
    sockets: writable.filter((root) => asked.map(truePath).includes(root) && !isOfOthers(root)),
    network: open?.network ?? false,
    hasTerminal,
  };
}

/** The rest of the command line; `env` sets, inside, what must not reach what starts the sandbox. */
export function sandboxExecArgv(
  program: string,
  { text, parameters }: SeatbeltProfile,
  environment: Readonly<Record<string, string>>,
  argv: readonly string[],
): string[] {
  return [
    program,
    ...['-p', text],
    ...[...parameters].flatMap(([name, value]) => ['-D', `${name}=${value}`]),
    '--',
    '/usr/bin/env',
    ...Object.entries(environment)
      .filter(([name]) => name === 'TMPDIR' || isForLoader(name))
      .map(([name, value]) => `${name}=${value}`),
    ...limitedArgv(argv, []),
  ];
}

/** The names, there or not, what links of these names stand for, and the repository that a `.git` file names. */
function protectedIn(root: string): string[] {
  const named = protectedNames(root).map((name) => join(root, name));
  return [...named, ...[...protectedPaths(root), ...protectedNow(root)].map(truePath)];
}

function isOfOthers(root: string): boolean {
  return FOLDERS_OF_OTHERS.some((folder) => isWithin(folder, root)) || isTemporary(root);
}

/** `/private/var/folders/xx/yyy/T`, which the system has made for the user. */
function isTemporary(root: string): boolean {
  return /^\/private\/var\/folders\/[^/]+\/[^/]+(\/[^/]+)?$/.test(root);
}

/** As the disk has it, in its capitals, too: rules hold for that alone. Of what is missing, as far as it is there. */
function truePath(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  const above = dirname(path);
  return above === path ? path : join(truePath(above), basename(path));
}

function withTemporaryFolder(
  environment: Readonly<Record<string, string>>,
  writable: readonly string[],
): Record<string, string> {
  const { TMPDIR: wanted } = environment;
  if (wanted === undefined || writable.some((root) => isWithin(truePath(wanted), root))) return environment;
  return { ...environment, TMPDIR: '/tmp' };
}
