import { isNode, parseDocument } from 'yaml';
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
  const lines = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const clean = unwrap(lines.trim());
  const first = lineAt(lines, lines.indexOf(clean));
  const match = FRONTMATTER.exec(clean);
  if (match === null) throw broken(path, 1, 'missing YAML frontmatter');
  const body = clean.slice(match[0].length).trim();
  if (body === '') throw broken(path, first + lineAt(clean, clean.length) - 1, 'must have a non-empty body');

  const { known, warnings, lineOf } = readYaml(match[1] ?? '', { name, path, firstLine: first + 1 });
  const parsed = frontmatterSchema.safeParse(known);
  if (!parsed.success) {
    throw broken(path, lineOf(parsed.error.issues[0]?.path ?? []), explain(parsed.error));
  }
  return { role: { ...parsed.data, name, body }, warnings };
}

/** Without a code fence around the whole. */
function unwrap(plain: string): string {
  return OPENING_FENCE.test(plain)
    ? plain.replace(OPENING_FENCE, '').replace(CLOSING_FENCE, '').trim()
    : plain;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

interface Frontmatter {
  known: Record<string, unknown>;
  warnings: string[];
  /** The line in the file of what stands under these keys, or of the nearest around it. */
  lineOf(keys: readonly PropertyKey[]): number;
}

/** @param at the role's name, its path for the messages, and the line of the file in which the YAML begins */
function readYaml(yaml: string, at: { name: string; path: string; firstLine: number }): Frontmatter {
  const { name, path, firstLine } = at;
  const lineOfOffset = (offset: number): number => firstLine + lineAt(yaml, offset) - 1;
  const document = parseDocument(yaml, { prettyErrors: false, uniqueKeys: true, logLevel: 'silent' });
  const problem = document.errors[0];
  if (problem !== undefined) {
    throw broken(path, lineOfOffset(problem.pos[0]), `invalid YAML: ${problem.message}`);
  }
  const content: unknown = asPlain(document, path);
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw broken(path, firstLine, 'the frontmatter must be a list of keys and values');
  }
  const lineOf = (keys: readonly PropertyKey[]): number => {
    for (let length = keys.length; length > 0; length--) {
      const node: unknown = document.getIn(keys.slice(0, length), true);
      if (isNode(node) && node.range) return lineOfOffset(node.range[0]);
    }
    return firstLine - 1;
  };
  const known: Record<string, unknown> = {};
  const warnings: string[] = [];
  const warn = (key: string, text: string) => warnings.push(`${path}:${lineOf([key])}: ${text}`);
  for (const [key, value] of Object.entries(content)) {
    if (Object.hasOwn(frontmatterSchema.shape, key)) known[key] = value;
    else if (key !== 'name') warn(key, `unknown key ${JSON.stringify(key)}`);
    else if (value !== name) warn(key, `the name ${JSON.stringify(value)} is ignored, the file name counts`);
  }
  return { known, warnings, lineOf };
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
