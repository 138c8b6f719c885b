import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type OptionTable, readOptions } from './command-options.ts';
import { readSettingsFile } from './read-settings-file.ts';

const SHOWN =
  'oneline stat shortstat numstat name-only name-status graph decorate decorate= no-decorate all since= until= after= before= author= grep= max-count= skip= patch no-patch color color= no-color pretty= format= abbrev-commit reverse merges no-merges first-parent date= follow word-diff unified= no-renames find-renames raw summary full-index cached staged';
const DIFF_LETTERS = 'psuU:wbMCGS:n:L:';

const SUBCOMMANDS: Readonly<Record<string, OptionTable>> = {
  status: {
    short: 'sbv',
    long: 'short branch porcelain porcelain= long verbose untracked-files= ignored show-stash',
  },
  log: { short: DIFF_LETTERS, long: SHOWN, number: true },
  show: { short: DIFF_LETTERS, long: SHOWN, number: true },
  diff: { short: DIFF_LETTERS, long: SHOWN, number: true },
  'rev-parse': {
    short: 'q',
    long: 'show-toplevel show-prefix show-cdup abbrev-ref abbrev-ref= short short= verify quiet is-inside-work-tree git-dir symbolic-full-name',
  },
  'ls-files': { short: 'cdmoszt', long: 'cached deleted modified others exclude-standard stage full-name' },
};

/** Keep a repository's configuration from running programs, as far as options can. */
const GUARDS = [
  '--no-pager',
  '--no-optional-locks',
  ...['-c', 'core.fsmonitor=false'],
  ...['-c', 'core.hooksPath=/dev/null'],
  ...['-c', 'log.showSignature=false'],
];
const NO_SUBMODULES = ['--ignore-submodules=all'];
const NO_PROGRAMS = ['--no-ext-diff', '--no-textconv', ...NO_SUBMODULES];

/** What can name a program that reading commands would run, read yet another file, or fetch what is missing. */
const RISKY_SETTING = /\[\s*(filter|include|includeif|gpg|extensions)\b|\bpromisor\b/i;
/** With these the settings stand elsewhere. */
const ELSEWHERE = ['config.worktree', 'commondir'];

/** The safe form of a git command that only reads, or why there is none. */
export function judgeGit(args: readonly string[], cwd: string): { words: string[] } | { reason: string } {
  const [subcommand, ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const table = subcommand === undefined ? undefined : SUBCOMMANDS[subcommand];
  if (subcommand === undefined || table === undefined || !Object.hasOwn(SUBCOMMANDS, subcommand)) {
    return { reason: `git ${subcommand ?? ''} is not known to be harmless` };
  }
  const read = readOptions(rest, table);
  if (!read.ok) return { reason: `git ${subcommand} ${read.option} is not known to be harmless` };
  const risk = riskyConfiguration(cwd);
  if (risk !== undefined) return { reason: risk };
  const showsContent = subcommand === 'log' || subcommand === 'show' || subcommand === 'diff';
  const extra = showsContent ? NO_PROGRAMS : subcommand === 'status' ? NO_SUBMODULES : [];
  return { words: ['git', ...GUARDS, subcommand, ...extra, ...rest] };
}

function riskyConfiguration(cwd: string): string | undefined {
  const folder = gitFolder(cwd);
  if (folder === undefined) return undefined;
  if (!statSync(folder).isDirectory()) return 'the repository keeps its settings elsewhere';
  try {
    if (ELSEWHERE.some((name) => existsSync(join(folder, name))))
      return 'the repository keeps its settings elsewhere';
    const config = readSettingsFile(join(folder, 'config'));
    return RISKY_SETTING.test(config) ? "the repository's settings may run programs" : undefined;
  } catch {
    return "the repository's settings cannot be read";
  }
}

function gitFolder(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return join(folder, '.git');
    // A folder may be a repository itself, without .git: git would take it for one.
    if (existsSync(join(folder, 'HEAD')) && existsSync(join(folder, 'objects'))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}
