import { readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SPECIAL_FOLDERS } from '../ordinary-file.ts';
import { isWithin } from '../sandbox/is-within.ts';
import { reachedBy } from '../sandbox/links-on.ts';
import { readOptions } from './command-options.ts';
import { type ParsedCommand, parseCommand, type SimpleCommand, toScript } from './command-words.ts';
import { judgeGit } from './harmless-git.ts';
import { HARMLESS_PROGRAMS, type HarmlessProgram } from './harmless-programs.ts';

/** A script that does what was asked for, and nothing that a shell could read differently; or why there is none. */
export type Harmlessness = { harmless: true; script: string } | { harmless: false; reason: string };

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', '/bin/sh', '/bin/bash', '/usr/bin/bash', '/usr/bin/sh']);
const KERNEL_FILE_SYSTEMS = new Set(['proc', 'sysfs', 'debugfs', 'tracefs', 'cgroup', 'cgroup2', 'devtmpfs']);

/**
 * Whether a command is known to only read: then it needs neither sandbox nor approval. Anything that is not
 * understood completely is not harmless.
 *
 * @param command a line for a shell, or program and arguments
 */
export function judgeCommand(command: string | readonly string[], cwd: string): Harmlessness {
  const parsed = parsedOf(command);
  // What programs find around them, they find from where they really run.
  return parsed.ok
    ? judgeAll(parsed.commands, realPath('.', cwd))
    : { harmless: false, reason: parsed.reason };
}

/**
 * The commands of a line, each as its words; undefined where a shell would read more than that. `plainShell`: only where
 * that shell runs nothing before them, as one does that is to log in, or that is zsh.
 */
export function commandsIn(
  command: string | readonly string[],
  { plainShell = false } = {},
): SimpleCommand[] | undefined {
  const readsFiles = typeof command !== 'string' && (command[0] === 'zsh' || command[1] !== '-c');
  const isOneCommand = plainShell && readsFiles;
  const parsed = isOneCommand ? wordsAlone(command) : parsedOf(command);
  return parsed.ok ? parsed.commands : undefined;
}

function wordsAlone(words: readonly string[]): ParsedCommand {
  return { ok: true, commands: [{ words: [...words] }] };
}

function parsedOf(command: string | readonly string[]): ParsedCommand {
  const line = typeof command === 'string' ? command : shellLine(command);
  return line === undefined ? wordsAlone(command as readonly string[]) : parseCommand(line);
}

/** `bash -lc LINE` is how many models call a shell. */
function shellLine(argv: readonly string[]): string | undefined {
  const [shell, flag, line] = argv;
  const isShell = argv.length === 3 && SHELLS.has(shell ?? '') && /^-l?c$/.test(flag ?? '');
  return isShell ? line : undefined;
}

function judgeAll(commands: readonly SimpleCommand[], cwd: string): Harmlessness {
  const safe: SimpleCommand[] = [];
  const special = specialFolders();
  for (const command of commands) {
    const judged = judgeSimple(command.words, cwd, special);
    if ('reason' in judged) return { harmless: false, reason: judged.reason };
    safe.push({ ...command, words: judged.words });
  }
  return { harmless: true, script: toScript(safe) };
}

function judgeSimple(
  words: readonly string[],
  cwd: string,
  special: readonly string[],
): { words: string[] } | { reason: string } {
  const [name = '', ...args] = words;
  if (args.some((arg) => arg.includes('\0'))) return { reason: 'it contains a NUL byte' };
  if (name === 'git') {
    const found = args.find((arg) => isSpecial(arg, cwd, special));
    return found === undefined ? judgeGit(args, cwd) : { reason: `${found} is no ordinary file` };
  }
  const program = Object.hasOwn(HARMLESS_PROGRAMS, name) ? HARMLESS_PROGRAMS[name] : undefined;
  if (program === undefined) return { reason: `${name || 'an empty name'} is not known to be harmless` };
  const judged = program.judge?.(args) ?? judgeOptions(name, args, program);
  if ('reason' in judged) return judged;
  const paths = program.recursive ? [cwd, ...judged.paths] : judged.paths;
  const reason = judgePaths({ ...program, name, special }, paths, cwd);
  return reason === undefined ? { words: [name, ...(program.guards ?? []), ...args] } : { reason };
}

function judgeOptions(
  name: string,
  args: readonly string[],
  program: (typeof HARMLESS_PROGRAMS)[string],
): { paths: string[] } | { reason: string } {
  const read = readOptions(args, program);
  if (!read.ok) return { reason: `${name} ${read.option} is not known to be harmless` };
  if (read.operands.length > (program.most ?? Number.POSITIVE_INFINITY)) {
    return { reason: `${name} with so many arguments is not known to be harmless` };
  }
  return { paths: program.operands === 'text' ? [] : [...read.operands, ...read.values] };
}

function judgePaths(
  {
    name,
    special: folders,
    recursive = false,
    filesOnly = false,
  }: HarmlessProgram & { name: string; special: readonly string[] },
  paths: readonly string[],
  cwd: string,
): string | undefined {
  for (const path of paths) {
    if (isSpecial(path, cwd, folders)) return `${path} is no ordinary file`;
    const real = realPath(path, cwd);
    const special = recursive ? folders.find((folder) => isWithin(folder, real)) : undefined;
    if (special !== undefined) return `${name} would read ${special}, where no ordinary files are`;
    if (filesOnly && isFolder(real)) return `${name} follows the links in a folder`;
  }
  return undefined;
}

/** With the places where the kernel's file systems are mounted besides. */
function specialFolders(): readonly string[] {
  if (process.platform !== 'linux') return SPECIAL_FOLDERS;
  return [...SPECIAL_FOLDERS, ...mounted(readFileSync('/proc/self/mountinfo', 'utf8'))];
}

/** From lines such as `22 26 0:20 / /host/proc rw - proc proc rw`. */
function mounted(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [, path = '', system = ''] = /^\S+ \S+ \S+ \S+ (\S+) .* - (\S+) /.exec(line) ?? [];
    const folder = path.replace(/\\(\d{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    return KERNEL_FILE_SYSTEMS.has(system) ? [folder] : [];
  });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whether a path leads, by its text or through links, to where no ordinary files are. */
function isSpecial(path: string, cwd: string, special: readonly string[]): boolean {
  const full = path.startsWith('/') ? path : `${cwd}/${path}`;
  // What the kernel shows as links leads where no path does.
  const candidates = [resolve(cwd, path), realPath(path, cwd), ...reachedBy(full)];
  const suspects = candidates.filter((path) => path !== '/dev/null' && !isWithin(path, '/dev/shm'));
  return suspects.some((suspect) => special.some((folder) => isWithin(suspect, folder)));
}

function realPath(path: string, cwd: string): string {
  try {
    return realpathSync.native(path.startsWith('/') ? path : `${cwd}/${path}`);
  } catch {
    return resolve(cwd, path);
  }
}
