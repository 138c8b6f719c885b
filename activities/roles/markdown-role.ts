import { isNode, parseDocument } from 'yaml';
import { brokenRole, lineAt, type RoleSource } from './broken-role.ts';

const OPENING_FENCE = /^```[a-z]*[ \t]*\n/;
const CLOSING_FENCE = /\n```[ \t]*$/;
const FRONTMATTER = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

/**
 * Reads Markdown with YAML frontmatter.
 *
 * @throws CadreError `config_invalid` that begins with path and line
 */
export function readMarkdownRole(text: string, path: string): RoleSource {
  const lines = text.replace(/\r\n?/g, '\n');
  const clean = unwrap(lines.trim());
  const first = lineAt(lines, lines.indexOf(clean));
  const match = FRONTMATTER.exec(clean);
  if (match === null) throw brokenRole(path, 1, 'missing YAML frontmatter');
  const body = clean.slice(match[0].length).trim();
  if (body === '')
    throw brokenRole(path, first + lineAt(clean, clean.length) - 1, 'must have a non-empty body');
  return { ...readYaml(match[1] ?? '', path, first + 1), body };
}

/** Without a code fence around the whole. */
function unwrap(plain: string): string {
  return OPENING_FENCE.test(plain)
    ? plain.replace(OPENING_FENCE, '').replace(CLOSING_FENCE, '').trim()
    : plain;
}

/** @param firstLine the line of the file in which the YAML begins */
function readYaml(yaml: string, path: string, firstLine: number): Omit<RoleSource, 'body'> {
  const lineOfOffset = (offset: number): number => firstLine + lineAt(yaml, offset) - 1;
  const document = parseDocument(yaml, { prettyErrors: false, uniqueKeys: true, logLevel: 'silent' });
  const problem = document.errors[0];
  if (problem !== undefined) {
    throw brokenRole(path, lineOfOffset(problem.pos[0]), `invalid YAML: ${problem.message}`);
  }
  const values = asPlain(document, path, firstLine);
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw brokenRole(path, firstLine, 'the frontmatter must be a list of keys and values');
  }
  const lineOf = (keys: readonly PropertyKey[]): number => {
    for (let length = keys.length; length > 0; length--) {
      const node: unknown = document.getIn(keys.slice(0, length), true);
      if (isNode(node) && node.range) return lineOfOffset(node.range[0]);
    }
    return firstLine - 1;
  };
  return { values: values as Record<string, unknown>, lineOf };
}

/** Aliases are limited, so that a few lines cannot unfold into gigabytes. */
function asPlain(document: ReturnType<typeof parseDocument>, path: string, line: number): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw brokenRole(path, line, `invalid YAML: ${(error as Error).message}`);
  }
}
