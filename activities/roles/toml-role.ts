import { parse, TomlError } from 'smol-toml';
import { brokenRole, lineAt, type RoleSource } from './broken-role.ts';

/** What Codex calls by another name. */
const NAMES: Readonly<Record<string, string>> = { model_reasoning_effort: 'reasoning_effort' };
/** Switches of tools in `[tools]`, and what each switches off. */
const SWITCHES = ['web_search', 'view_image'];

/**
 * Reads an agent of Codex: TOML with `description` and `developer_instructions`. What it switches off is told as
 * denied tools.
 *
 * @throws CadreError `config_invalid` that begins with path and line
 */
export function readTomlRole(text: string, path: string): RoleSource {
  const lineOf = ([key]: readonly PropertyKey[]): number => lineOfKey(text, String(key));
  const { developer_instructions: body, ...rest } = readToml(text, path);
  if (typeof body !== 'string' || body.trim() === '') {
    const line = body === undefined ? 1 : lineOf(['developer_instructions']);
    throw brokenRole(path, line, 'must have non-empty developer_instructions');
  }
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(rest)) {
    if (key === 'web_search' || key === 'tools') continue;
    values[Object.hasOwn(NAMES, key) ? (NAMES[key] as string) : key] = value;
  }
  const denied = deniedTools(rest, path, lineOf);
  if (denied.length > 0) values.deny_list = [...denied, ...asList(values.deny_list)];
  requireOnlyWider(rest.sandbox_workspace_write, path, lineOf);
  // A list of tools is none of Codex's, but what people write who come from elsewhere.
  if (Array.isArray(rest.tools) || typeof rest.tools === 'string') values.tools = rest.tools;
  return {
    values,
    body: body.trim(),
    lineOf: ([key, ...more]) =>
      lineOf([key === 'reasoning_effort' ? 'model_reasoning_effort' : (key ?? ''), ...more]),
  };
}

function readToml(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw brokenRole(path, error.line, `invalid TOML: ${reason}`);
  }
}

/** Whatever is not surely switched on counts as switched off. */
function deniedTools(
  { web_search: search, tools }: Record<string, unknown>,
  path: string,
  lineOf: (keys: readonly PropertyKey[]) => number,
): string[] {
  const denied = new Set<string>();
  if (search !== undefined && search !== 'live' && search !== true) denied.add('web_search');
  if (typeof tools === 'object' && tools !== null && !Array.isArray(tools)) {
    for (const [name, value] of Object.entries(tools)) {
      if (SWITCHES.includes(name) && value !== true && typeof value !== 'object') denied.add(name);
      if (SWITCHES.includes(name) || value === true) continue;
      throw brokenRole(
        path,
        lineOf([name]),
        `tools.${name} may take a tool away, and is not understood here`,
      );
    }
  }
  return [...denied];
}

/** What the sandbox of Codex may be opened for means nothing here; what it is closed for would have to hold. */
function requireOnlyWider(
  table: unknown,
  path: string,
  lineOf: (keys: readonly PropertyKey[]) => number,
): void {
  if (typeof table !== 'object' || table === null) return;
  const other = Object.keys(table).find((key) => !['network_access', 'writable_roots'].includes(key));
  if (other === undefined) return;
  const what = `sandbox_workspace_write.${other} may take something away, and is not understood here`;
  throw brokenRole(path, lineOf([other]), what);
}

function asList(value: unknown): unknown[] {
  if (typeof value === 'string') return value.split(',');
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function lineOfKey(text: string, key: string): number {
  const name = `["']?${key.replaceAll(/[^\w-]/g, '\\$&')}["']?`;
  const found = new RegExp(`^[ \\t]*(?:\\[{1,2} *)?${name} *[=.\\]]`, 'm').exec(text);
  return found === null ? 1 : lineAt(text, found.index);
}
