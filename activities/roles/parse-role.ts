import { parseDocument } from 'yaml';
import { CadreError, explain } from '../../protocol/index.ts';
import { frontmatterSchema, type Role } from './role.ts';

/** A role's file is prose; what is larger is something else. */
const MOST_BYTES = 256 * 1024;
const OPENING_FENCE = /^```[a-z]*[ \t]*\n/;
const CLOSING_FENCE = /\n```[ \t]*$/;
const FRONTMATTER = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

export interface ParsedRole {
  role: Role;
  /** What the file says that has no meaning here. */
  warnings: string[];
}

/**
 * Reads a role from the text of a Markdown file. The name is that of the file, whatever the frontmatter says.
 *
 * @param path for the messages
 * @throws CadreError `config_invalid` that begins with path and line
 */
export function parseRole(name: string, text: string, path: string): ParsedRole {
  if (Buffer.byteLength(text) > MOST_BYTES) throw broken(path, 1, `is larger than ${MOST_BYTES / 1024} KiB`);
  const clean = unwrap(text);
  const match = FRONTMATTER.exec(clean);
  if (match === null) throw broken(path, 1, 'missing YAML frontmatter');
  const body = clean.slice(match[0].length).trim();
  if (body === '') throw broken(path, clean.split('\n').length, 'must have a non-empty body');

  const { known, warnings } = readYaml(match[1] ?? '', name, path);
  const parsed = frontmatterSchema.safeParse(known);
  if (!parsed.success) throw broken(path, 1, explain(parsed.error));
  return { role: { ...parsed.data, name, body }, warnings };
}

/** Without byte order mark, CRLF, blanks around it, and a code fence around the whole. */
function unwrap(text: string): string {
  const plain = text
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .trim();
  return OPENING_FENCE.test(plain)
    ? plain.replace(OPENING_FENCE, '').replace(CLOSING_FENCE, '').trim()
    : plain;
}

function readYaml(
  yaml: string,
  name: string,
  path: string,
): { known: Record<string, unknown>; warnings: string[] } {
  const document = parseDocument(yaml, { prettyErrors: false, uniqueKeys: true, logLevel: 'silent' });
  const problem = document.errors[0];
  if (problem !== undefined) {
    const line = 2 + yaml.slice(0, problem.pos[0]).split('\n').length - 1;
    throw broken(path, line, `invalid YAML: ${problem.message}`);
  }
  const content: unknown = asPlain(document, path);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw broken(path, 2, 'the frontmatter must be a list of keys and values');
  }
  const known: Record<string, unknown> = {};
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(content)) {
    if (Object.hasOwn(frontmatterSchema.shape, key)) known[key] = value;
    else if (key !== 'name') warnings.push(`${path}: unknown key ${JSON.stringify(key)}`);
    else if (value !== name)
      warnings.push(`${path}: the name ${JSON.stringify(value)} is ignored, the file name counts`);
  }
  return { known, warnings };
}

/** Aliases are limited, so that a few lines cannot unfold into gigabytes. */
function asPlain(document: ReturnType<typeof parseDocument>, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw broken(path, 2, `invalid YAML: ${(error as Error).message}`);
  }
}

function broken(path: string, line: number, reason: string): CadreError {
  return new CadreError('config_invalid', `${path}:${line}: ${reason}`);
}
