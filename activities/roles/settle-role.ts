import type { FileKeys, Role } from './role.ts';
import { allowedTools, deniedTools, type MappedTools } from './tool-names.ts';

/** Modes of Claude Code that say how much is asked, which is the session's to say here. */
const ASKING_MODES = ['default', 'manual', 'acceptEdits', 'auto', 'bypassPermissions'];
/** Events of Claude Code, in lower case, whose hooks refuse no call of a tool. Of others that is not known. */
const REFUSES_NOTHING = new Set([
  ...['posttooluse', 'posttoolusefailure', 'notification', 'userpromptsubmit', 'stop', 'stopfailure'],
  ...['subagentstart', 'subagentstop', 'teammateidle', 'taskcompleted', 'precompact', 'postcompact'],
  ...[
    'sessionstart',
    'sessionend',
    'setup',
    'configchange',
    'instructionsloaded',
    'cwdchanged',
    'filechanged',
  ],
  ...['worktreecreate', 'worktreeremove'],
]);
const NAMES_ONLY = /^[A-Za-z_]+(?:\|[A-Za-z_]+)*$/;

export interface SettledRole {
  role: Omit<Role, 'name' | 'body'>;
  notices: { key: string; text: string }[];
}

/**
 * A role in the words that are used here, from one that may be written in those of Claude Code. What is not understood
 * gives a role nothing, and what is denied in a way that has no counterpart is denied whole.
 *
 * @param without tools that it does not have, whatever its lists say
 * @param refuse makes the error for a denial that is none
 */
export function settleRole(
  file: FileKeys,
  without: readonly string[],
  refuse: (key: string, reason: string) => Error,
): SettledRole {
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
  const denied = new Set<string>(without);
  const deny = (key: string, list: readonly string[]) => {
    const found = deniedTools(list, (reason) => refuse(key, reason));
    for (const name of note(key, found)) denied.add(name);
    readsOnly ||= found.unknownDenial === true;
  };
  deny('deny_list', own.deny_list ?? []);
  deny('disallowedTools', disallowedTools ?? []);
  const guards = guarded(hooks, notices);
  for (const name of guards.names) denied.add(name);
  readsOnly ||= guards.unknownDenial === true;

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
function guarded(hooks: FileKeys['hooks'], notices: SettledRole['notices']): MappedTools {
  const all = Object.entries(hooks ?? {});
  const others = all.filter(([event]) => REFUSES_NOTHING.has(event.toLowerCase()));
  if (others.length > 0) {
    const names = others.map(([event]) => event).join(', ');
    notices.push({ key: 'hooks', text: `hooks have no counterpart here: ${names}` });
  }
  const matchers = all
    .filter((hook) => !others.includes(hook))
    .flatMap(([, guards]) => (Array.isArray(guards) ? guards.map(matcherOf) : ['*']));
  const found = matchers.map((matcher): MappedTools => {
    const whom = matcher === '*' ? 'every tool' : matcher;
    const text = `the hook before ${whom} is not run here, so what it guards is taken away`;
    notices.push({ key: 'hooks', text });
    if (matcher === '*') return { names: ['*'], notices: [] };
    return deniedTools(matcher.split('|'), (reason) => new Error(reason));
  });
  notices.push(...found.flatMap((each) => each.notices.map((text) => ({ key: 'hooks', text }))));
  return {
    names: found.flatMap(({ names }) => names),
    notices: [],
    unknownDenial: found.some(({ unknownDenial }) => unknownDenial === true),
  };
}

/** The tools that a hook guards; what is more than names means all. */
function matcherOf(guard: unknown): string {
  const { matcher } = (guard ?? {}) as { matcher?: unknown };
  return typeof matcher === 'string' && NAMES_ONLY.test(matcher) ? matcher : '*';
}
