import { counted, explain } from '../../protocol/index.ts';
import { brokenRole } from './broken-role.ts';
import { readMarkdownRole } from './markdown-role.ts';
import { fileSchema, type Role } from './role.ts';
import { knownKeys } from './role-keys.ts';
import { settleRole } from './settle-role.ts';
import { readTomlRole } from './toml-role.ts';

/** A role's file is prose; what is larger is something else. Its text travels with each agent of the role. */
export const ROLE_BYTES_MAX = 64 * 1024;
/** More of them nobody reads. */
const MOST_WARNINGS = 50;
const ROLE_NAME = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NAME_RULE =
  'the file name is no name for a role: letters, digits, dots, dashes and underscores, at most 64, beginning with a letter or digit';

export interface ParsedRole {
  role: Role;
  /** What the file says that has no meaning here, each with path and line. */
  warnings: string[];
}

/**
 * Reads a role from the text of its file: Markdown with YAML frontmatter, or TOML where the path says so. The name is
 * that of the file, whatever stands inside.
 *
 * @param path for the messages
 * @throws CadreError `config_invalid` that begins with path and line
 */
export function parseRole(name: string, text: string, path: string): ParsedRole {
  if (!ROLE_NAME.test(name)) throw brokenRole(path, 1, NAME_RULE);
  if (Buffer.byteLength(text) > ROLE_BYTES_MAX) throw tooLarge(path);
  if (text.includes('\0')) {
    throw brokenRole(
      path,
      text.slice(0, text.indexOf('\0')).split('\n').length,
      'is no text: it has a NUL byte',
    );
  }
  const plain = text.replace(/^\ufeff/, '');
  const source = isToml(path) ? readTomlRole(plain, path) : readMarkdownRole(plain, path);
  const { values, notices, denied, written } = knownKeys(name, source, path);
  const lineOf = ([key, ...rest]: readonly PropertyKey[]): number =>
    source.lineOf(key === undefined ? [] : [written(key), ...rest]);
  const parsed = fileSchema.safeParse(values);
  if (!parsed.success) {
    throw brokenRole(path, lineOf(parsed.error.issues[0]?.path ?? []), explain(parsed.error));
  }
  const settled = settleRole(parsed.data, denied, (key, reason) => brokenRole(path, lineOf([key]), reason));
  const told = [...notices, ...settled.notices].map(({ key, text }) => ({ line: lineOf([key]), text }));
  const warnings = told.sort((a, b) => a.line - b.line).map(({ line, text }) => `${path}:${line}: ${text}`);
  const more = warnings.length - MOST_WARNINGS;
  return {
    role: { ...settled.role, name, body: source.body },
    warnings:
      more <= 0
        ? warnings
        : [...warnings.slice(0, MOST_WARNINGS), `${path}: and ${counted(more, 'more notice')}`],
  };
}

export function tooLarge(path: string): Error {
  return brokenRole(path, 1, `is larger than ${ROLE_BYTES_MAX / 1024} KiB`);
}

function isToml(path: string): boolean {
  return /\.toml$/i.test(path);
}
