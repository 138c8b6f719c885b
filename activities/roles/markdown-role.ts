import { type Document, isNode, parseAllDocuments } from 'yaml';
import { brokenRole, lineAt, type RoleSource } from './broken-role.ts';

const FENCED = /^(`{3,}|~{3,})[^\n`]*\n([\s\S]*?)(\n\1[ \t]*)?$/;
const FRONTMATTER = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

const NESTED = 'it is nested too deeply';
/** Merge keys are read, since they may bring a restriction. */
const OPTIONS = { prettyErrors: false, uniqueKeys: true, logLevel: 'silent', merge: true } as const;
/** A description on one line; the next line does not go on with it, and no quote is left open. */
const PLAIN_DESCRIPTION = /^(description:[ \t]+)(?![|>]|"[^"\n]*$|'[^'\n]*$)(.*\S)(?=[ \t]*(?:\n\S|\n*$))/m;

/**
 * Reads Markdown with YAML frontmatter.
 *
 * @throws CadreError `config_invalid` that begins with path and line
 */
export function readMarkdownRole(text: string, path: string): RoleSource {
  const lines = text.replace(/\r\n?/g, '\n');
  const { clean, fence } = unwrap(lines.trim());
  const first = lineAt(lines, lines.indexOf(clean));
  const match = FRONTMATTER.exec(clean);
  if (match === null) throw brokenRole(path, 1, 'missing YAML frontmatter');
  const below = clean.slice(match[0].length).trim();
  // The fence may have been around the frontmatter alone.
  const body =
    fence !== undefined && below.startsWith(`${fence}\n`) ? below.slice(fence.length).trim() : below;
  if (body === '')
    throw brokenRole(path, first + lineAt(clean, clean.length) - 1, 'must have a non-empty body');
  return { ...readYaml(match[1] ?? '', path, first + 1), body };
}

/** Without a code fence around the whole; `fence`, where it does not end there. */
function unwrap(plain: string): { clean: string; fence?: string | undefined } {
  const [, fence, inside, end] = FENCED.exec(plain) ?? [];
  if (inside === undefined) return { clean: plain };
  return { clean: inside.trim(), fence: end === undefined ? fence : undefined };
}

/** @param firstLine the line of the file in which the YAML begins */
function readYaml(yaml: string, path: string, firstLine: number): Omit<RoleSource, 'body'> {
  const { text, documents } = parsed(yaml);
  const [document, second] = documents;
  const lineOfOffset = (offset: number): number => firstLine + lineAt(text, offset) - 1;
  const problem = document?.errors[0];
  if (problem !== undefined) {
    const reason = /call stack/.test(problem.message) ? NESTED : problem.message;
    throw brokenRole(path, lineOfOffset(problem.pos[0]), `invalid YAML: ${reason}`);
  }
  if (second !== undefined) {
    const reason = 'a second YAML document begins here; what stands in it would not be read';
    throw brokenRole(path, lineOfOffset(second.range?.[0] ?? 0), reason);
  }
  const values = document === undefined ? undefined : asPlain(document, path, firstLine);
  if (document === undefined || typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw brokenRole(path, firstLine, 'the frontmatter must hold keys with values, such as description: …');
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

/** Claude Code writes descriptions with colons and without quotes: where that is no YAML, they are taken as they are. */
function parsed(yaml: string): { text: string; documents: readonly Document.Parsed[] } {
  const asWritten = { text: yaml, documents: documentsIn(yaml) };
  if (isSound(asWritten.documents)) return asWritten;
  const text = yaml.replace(PLAIN_DESCRIPTION, (_, key, said) => `${key}${JSON.stringify(said)}`);
  const documents = documentsIn(text);
  // Errors stand where the file has them.
  return isSound(documents) ? { text, documents } : asWritten;
}

function documentsIn(text: string): readonly Document.Parsed[] {
  const documents = parseAllDocuments(text, OPTIONS);
  return Array.isArray(documents) ? documents : [];
}

function isSound(documents: readonly Document.Parsed[]): boolean {
  return documents.every(({ errors }) => errors.length === 0);
}

/** Aliases are limited, so that a few lines cannot unfold into gigabytes. */
function asPlain(document: Document.Parsed, path: string, line: number): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    const reason = error instanceof RangeError ? NESTED : (error as Error).message;
    throw brokenRole(path, line, `invalid YAML: ${reason}`);
  }
}
