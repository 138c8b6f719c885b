import { matchesGlob, type ToolEffects, type ToolPolicy } from '../../protocol/index.ts';

/** Whoever may use one of these may use all: they are ways to run commands. */
export const SHELL_FAMILY: readonly string[] = ['shell', 'local_shell', 'exec_command', 'write_stdin'];

/**
 * The one rule for tools: a tool may be used when every list of `allow` names it and none of `deny` does. It holds when
 * tools are offered and again when one is called.
 */
export function isAllowed(name: string, policy: ToolPolicy): boolean {
  return policy.allow.every((list) => isListed(name, list)) && !isListed(name, policy.deny);
}

/** Effects that a role may have all the same that only reads: commands, held by the sandbox, and notes to oneself. */
const HARMLESS_EFFECTS: readonly string[] = [...SHELL_FAMILY, 'remember'];

/**
 * Whether an agent may have the tool that must not change anything.
 *
 * @param isCadresOwn a team's tool that has taken the place of one of Cadre's keeps no sandbox
 */
export function keepsReadOnly(tool: { name: string; effects: ToolEffects }, isCadresOwn: boolean): boolean {
  return tool.effects === 'none' || (isCadresOwn && HARMLESS_EFFECTS.includes(tool.name));
}

/** Whether a list of names and globs means this tool. */
function isListed(name: string, list: readonly string[]): boolean {
  const names = SHELL_FAMILY.includes(name) ? SHELL_FAMILY : [name];
  return list.some((pattern) => names.some((candidate) => matchesGlob(candidate, pattern)));
}
