import { lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readOrdinaryFile } from '../ordinary-file.ts';

/**
 * The sections that are known, and name no program that reading commands run, no other file to read, and nothing to be
 * fetched. Some that do so are `filter`, `include`, `diff "x"` (textconv), `gpg`, `pretty`, `extensions` and
 * `lfs "extension.x"`.
 */
const PLAIN_SECTIONS = new Set(
  'advice alias color commit core credential diff feature fetch format gc gui http i18n index init lfs log maintenance merge mergetool pack pull push rebase receive rerere stash submodule tag user'.split(
    ' ',
  ),
);
/** With a name behind: `[remote "origin"]`. */
const NAMED_SECTIONS = new Set(
  'branch color credential difftool gitflow http mergetool remote submodule svn-remote url'.split(' '),
);
const SECTION = /^\[([a-z0-9-]+)(?: "([^"\\\]]*)")?\]$/i;
/** What leads elsewhere. */
const LEADING_KEY = /^(worktree|attributesfile|excludesfile|orderfile|promisor|partialclonefilter)\b/i;
const SETTING = /^[a-z][a-z0-9-]*(\s*=.*)?$/i;
/** With these the settings stand elsewhere. */
const ELSEWHERE = ['config.worktree', 'commondir'];
const HEAD_BYTES_MAX = 1_000;
const ELSEWHERE_REASON = 'the repository keeps its settings elsewhere';

/**
 * Why git, run in a folder, may run programs that its repository names; undefined where it cannot. What git might take
 * for a repository on the way up, and is none for certain, is a reason, too.
 *
 * @param cwd as the kernel sees it, links resolved: git looks upwards from there
 */
export function riskInRepository(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (isThere(join(folder, '.git'))) return riskIn(join(folder, '.git'));
    if (looksLikeRepository(folder))
      return `${folder} is a repository without .git, which any folder may hold`;
    if (folder === dirname(folder)) return undefined;
  }
}

/** A folder may be a repository itself: git would take it for one. */
function looksLikeRepository(folder: string): boolean {
  return isThere(join(folder, 'HEAD')) && isThere(join(folder, 'objects'));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function riskIn(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return ELSEWHERE_REASON;
    // Git passes over what is no repository, and looks further up.
    if (!isRepository(folder)) return `${folder} is no repository as git makes them`;
    if (ELSEWHERE.some((name) => isThere(join(folder, name)))) return ELSEWHERE_REASON;
    return riskOfSettings(join(folder, 'config'));
  } catch {
    return "the repository's settings cannot be read";
  }
}

function isRepository(folder: string): boolean {
  const head = join(folder, 'HEAD');
  const isFile = lstatSync(head).isFile();
  const says = isFile ? readOrdinaryFile(head, HEAD_BYTES_MAX).bytes.toString() : '';
  const isHead = /^(ref: refs\/\S+|[0-9a-f]{40}|[0-9a-f]{64})\n?$/.test(says);
  return isHead && ['objects', 'refs'].every((name) => readdirSync(join(folder, name)).length >= 0);
}

function riskOfSettings(file: string): string | undefined {
  if (!lstatSync(file).isFile()) return 'its settings are no ordinary file';
  const lines = readOrdinaryFile(file).bytes.toString().split('\n');
  return lines.map((line) => line.trim()).every(isPlain)
    ? undefined
    : "the repository's settings may run programs, or are not understood";
}

/** One setting or section on a line of its own, as git itself writes them. */
function isPlain(line: string): boolean {
  if (line === '' || line.startsWith('#') || line.startsWith(';')) return true;
  if (line.startsWith('[')) return isPlainSection(line);
  return SETTING.test(line) && !LEADING_KEY.test(line) && !line.endsWith('\\');
}

function isPlainSection(line: string): boolean {
  const [, name = '', of] = SECTION.exec(line) ?? [];
  const kind = name.toLowerCase();
  if (of === undefined) return PLAIN_SECTIONS.has(kind);
  return NAMED_SECTIONS.has(kind) || (kind === 'lfs' && /^https?:/.test(of));
}
