import { type OptionTable, readOptions } from './command-options.ts';
import { riskInRepository } from './git-repository.ts';

const SHOWN =
  'oneline stat shortstat numstat name-only name-status graph decorate decorate= no-decorate all since= until= after= before= author= grep= max-count= skip= patch no-patch color color= no-color pretty= format= abbrev-commit reverse merges no-merges first-parent date= follow word-diff unified= no-renames find-renames raw summary full-index cached staged';
const DIFF_LETTERS = 'psuU:wbMCG:S:n:L:';

const SUBCOMMANDS: Readonly<Record<string, OptionTable>> = {
  status: {
    short: 'sb',
    long: 'short branch porcelain porcelain= long untracked-files= ignored show-stash',
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
  // %G? in a format has signatures looked at, which may change keyrings.
  ...['gpg.program', 'gpg.openpgp.program', 'gpg.x509.program', 'gpg.ssh.program'].flatMap((name) => [
    '-c',
    `${name}=false`,
  ]),
  // Nothing is fetched, by no helper; the index stays as it is; submodules have settings of their own.
  ...['-c', 'protocol.allow=never', '-c', 'core.sshCommand=false', '-c', 'credential.helper='],
  ...['-c', 'diff.autoRefreshIndex=false', '-c', 'diff.submodule=short'],
  ...['-c', 'status.submoduleSummary=false', '-c', 'submodule.recurse=false'],
  // A folder that any repository may hold is none, whatever is in it.
  ...['-c', 'safe.bareRepository=explicit'],
];
const NO_SUBMODULES = ['--ignore-submodules=all'];
const NO_PROGRAMS = ['--no-ext-diff', '--no-textconv', ...NO_SUBMODULES];

/**
 * The safe form of a git command that only reads, or why there is none.
 *
 * @param cwd links resolved
 */
export function judgeGit(args: readonly string[], cwd: string): { words: string[] } | { reason: string } {
  const [subcommand, ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const table = subcommand === undefined ? undefined : SUBCOMMANDS[subcommand];
  if (subcommand === undefined || table === undefined || !Object.hasOwn(SUBCOMMANDS, subcommand)) {
    return { reason: `git ${subcommand ?? ''} is not known to be harmless` };
  }
  const read = readOptions(rest, table);
  if (!read.ok) return { reason: `git ${subcommand} ${read.option} is not known to be harmless` };
  const risk = riskInRepository(cwd);
  if (risk !== undefined) return { reason: risk };
  const showsContent = subcommand === 'log' || subcommand === 'show' || subcommand === 'diff';
  const extra = showsContent ? NO_PROGRAMS : subcommand === 'status' ? NO_SUBMODULES : [];
  return { words: ['git', ...GUARDS, subcommand, ...extra, ...rest] };
}
