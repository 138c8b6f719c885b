import type { FileKeys, Role } from './role.ts';
import { allowedTools, deniedTools, type MappedTools } from './tool-names.ts';

/** Modes of Claude Code that say how much is asked, which is the session's to say here. */
const ASKING_MODES = ['default', 'manual', 'acceptEdits', 'auto', 'bypassPermissions'];
const NAMES_ONLY = /^[A-Za-z_]+(?:\|[A-Za-z_]+)*$/;

export interface SettledRole {
  role: Omit<Role, 'name' | 'body'>;
  notices: { key: string; text: string }[];
}

/**
 * A role in the words that are used here, from one that may be written in those of Claude Code. What is not understood
 * gives a role nothing, and what is denied in a way that has no counterpart is denied whole.
 *
 * @param refuse makes the error for a denial that is none
 */
export function settleRole(file: FileKeys, refuse: (key: string, reason: string) => Error): SettledRole {
  const { disallowedTools, permissionMode, maxTurns, effort, hooks, ...own } = file;
  const notices: SettledRole['notices'] = [];
  const note = (key: string, found: MappedTools): string[] => {
    notices.push(...found.notices.map((text) => ({ key, text })));
    return found.names;
  };
  const role: SettledRole['role'] = { ...own };
  let readsOnly = own.read_only === true || own.sandbox_mode === 'read-only';

  for (const key of ['tools', 'allow_list'] as const) {
    const list = own[key];
    if (list === undefined) continue;
    const names = note(key, allowedTools(list));
    role[key] = names;
    if (names.length === 0 && list.length > 0) notices.push({ key, text: 'no tool is left' });
  }
  const denied = new Set<string>();
  const deny = (key: string, list: readonly string[]) => {
    const found = deniedTools(list, (reason) => refuse(key, reason));
    for (const name of note(key, found)) denied.add(name);
    readsOnly ||= found.unknownDenial === true;
  };
  deny('deny_list', own.deny_list ?? []);
  deny('disallowedTools', disallowedTools ?? []);
  for (const name of guarded(hooks, notices)) denied.add(name);

  if (permissionMode === 'dontAsk') role.approval_policy ??= 'never';
  else if (permissionMode !== undefined && ASKING_MODES.includes(permissionMode)) {
    const text = `permissionMode ${permissionMode} has no counterpart here: the approval policy of the session holds`;
    notices.push({ key: 'permissionMode', text });
  } else if (permissionMode !== undefined) {
    readsOnly = true;
    if (permissionMode !== 'plan') {
      const text = `permissionMode ${JSON.stringify(permissionMode.slice(0, 80))} is not known; the role only reads, to be safe`;
      notices.push({ key: 'permissionMode', text });
    }
  }
  if (denied.size > 0) role.deny_list = [...denied];
  if (readsOnly) role.read_only = true;
  if (maxTurns !== undefined) role.max_steps = Math.min(maxTurns, own.max_steps ?? maxTurns);
  if (effort !== undefined) role.reasoning_effort ??= effort;
  return { role, notices };
}

/** A hook before a tool may refuse its calls. Hooks are not run here, so the tool is taken away. */
function guarded(hooks: FileKeys['hooks'], notices: SettledRole['notices']): string[] {
  if (hooks === undefined) return [];
  const { PreToolUse: guards, ...others } = hooks;
  if (Object.keys(others).length > 0) {
    notices.push({ key: 'hooks', text: `hooks have no counterpart here: ${Object.keys(others).join(', ')}` });
  }
  if (guards === undefined) return [];
  const matchers = Array.isArray(guards) ? guards.map(matcherOf) : ['*'];
  for (const matcher of matchers) {
    const whom = matcher === '*' ? 'every tool' : matcher;
    notices.push({
      key: 'hooks',
      text: `the hook before ${whom} is not run here, so what it guards is taken away`,
    });
  }
  const lists = matchers.map(
    (matcher) => deniedTools(matcher.split('|'), (reason) => new Error(reason)).names,
  );
  return matchers.includes('*') ? ['*'] : lists.flat();
}

/** The tools that a hook guards; what is more than names means all. */
function matcherOf(guard: unknown): string {
  const { matcher } = (guard ?? {}) as { matcher?: unknown };
  return typeof matcher === 'string' && NAMES_ONLY.test(matcher) ? matcher : '*';
}
