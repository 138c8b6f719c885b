import { brokenRole, type RoleSource } from './broken-role.ts';
import { deniedByServers } from './denied-servers.ts';
import { fileSchema } from './role.ts';

/** What files of Claude Code and Codex say that means nothing here, and takes nothing away where it is left out. */
const WITHOUT_COUNTERPART: Readonly<Record<string, string>> = {
  skills: 'no skills are loaded',
  mcpServers: 'no servers are started for it',
  mcp_servers: 'no servers are started for it',
  memory: 'it has no memory of its own',
  background: 'every agent runs in the background',
  isolation: 'it works in the folder of the agent that starts it',
  initialPrompt: 'its task is all it is given',
  color: 'agents have no colours',
  nickname_candidates: 'agents are called by role and number',
  model_provider: 'it has the provider of the agent that starts it',
  model_verbosity: 'the model decides',
  model_reasoning_summary: 'the provider decides',
  service_tier: 'the provider decides',
  sandbox_workspace_write: 'commands write below the working directory, and have no network',
  personality: 'the text of the role says it all',
};

/** Other spellings under which a key is meant, without case, dashes and underscores. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(fileSchema.shape).map((key) => [plain(key), key])),
  maxturns: 'maxTurns',
  allowedtools: 'allow_list',
  deniedtools: 'deny_list',
  denytools: 'deny_list',
  sandbox: 'sandbox_mode',
  sandboxpolicy: 'sandbox_mode',
};
/** What may be meant to take something away. */
const RESTRICTIVE =
  /den(y|ied)|allow|forbid|block|exclu|restrict|prohibit|read.?only|permission|sandbox|approv|disabled?|without|remove|(^|[^a-z])(ban(s|ned)?|no|only)([^a-z]|$)/i;
/** What may be switched off by something that is not understood. */
const SWITCH = /tool|shell|bash|exec|command|write|edit|patch|web|fetch|net|agent|task|mcp/i;
const OFF = /^(false|off|no|none|never|den(y|ied)|disabled?|forbid(den)?|block(ed)?)$/i;
/** A way of working that allows less, under a key that no file here has. */
const MODE = /mode|access|polic/i;
const LESS = /plan|read.?only|lock|restrict|safe/i;
/** Deeper than this nobody writes a setting. */
const DEPTH = 8;

export interface KnownKeys {
  values: Record<string, unknown>;
  notices: { key: string; text: string }[];
  /** Tools that keys without a counterpart take away. */
  denied: string[];
  /** The key as the file has it. */
  written(key: PropertyKey): PropertyKey;
}

/**
 * The keys that mean something here. Others only bring a notice, unless they may be meant to take something away: who
 * leaves those out would give a role more than its author did.
 *
 * @throws CadreError `config_invalid` for a restriction that is not understood, and for a key that is there twice
 */
export function knownKeys(name: string, source: RoleSource, path: string): KnownKeys {
  const values: Record<string, unknown> = {};
  const notices: KnownKeys['notices'] = [];
  const written = new Map<PropertyKey, string>();
  const denied: string[] = [];
  for (const [key, value] of Object.entries(source.values)) {
    const known = knownKey(key);
    const line = source.lineOf([key]);
    if (key === 'approval_policy' && value === 'on-failure') {
      const text =
        'approval_policy on-failure has no counterpart here: the approval policy of the session holds';
      notices.push({ key, text });
    } else if (known !== undefined) {
      const other = written.get(known);
      if (other !== undefined)
        throw brokenRole(path, line, `${known} stands there twice, as ${other} and as ${key}`);
      written.set(known, key);
      values[known] = value;
      if (known !== key) notices.push({ key, text: `${JSON.stringify(key)} is read as ${known}` });
    } else if (key === 'name') {
      if (value !== name) {
        notices.push({ key, text: `the name ${JSON.stringify(value)} is ignored, the file name counts` });
      }
    } else if (Object.hasOwn(WITHOUT_COUNTERPART, key)) {
      notices.push({ key, text: `${key} has no counterpart here: ${WITHOUT_COUNTERPART[key]}` });
      if (/^mcp/.test(key)) denied.push(...deniedByServers(value));
    } else if (mayRestrict(key, value)) {
      const what = `${JSON.stringify(key.slice(0, 80))} may take something away, and is not understood here`;
      throw brokenRole(path, line, `${what}; use tools, allow_list, deny_list or read_only`);
    } else {
      notices.push({ key, text: `unknown key ${JSON.stringify(key.slice(0, 80))}` });
    }
  }
  return { values, notices, denied, written: (key) => written.get(key) ?? key };
}

/** Whether a key, or one of those within it, may be meant to take something away. */
function mayRestrict(key: string, value: unknown, depth = 0): boolean {
  if (RESTRICTIVE.test(key) && !isEmpty(value)) return true;
  if (SWITCH.test(key) && (value === false || (typeof value === 'string' && OFF.test(value.trim()))))
    return true;
  if (MODE.test(key) && typeof value === 'string' && LESS.test(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  return depth >= DEPTH || Object.entries(value).some(([inner, each]) => mayRestrict(inner, each, depth + 1));
}

function knownKey(key: string): string | undefined {
  if (Object.hasOwn(fileSchema.shape, key)) return key;
  const spelled = plain(key);
  return Object.hasOwn(SPELLINGS, spelled) ? SPELLINGS[spelled] : undefined;
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[-_ ]/g, '');
}

function isEmpty(value: unknown): boolean {
  return value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0);
}
