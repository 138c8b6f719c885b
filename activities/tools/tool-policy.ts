import { matchesGlob, type ToolPolicy } from '../../protocol/index.ts';

/** Whoever may use one of these may use all: they are ways to run commands. */
export const SHELL_FAMILY: readonly string[] = ['shell', 'local_shell', 'exec_command', 'write_stdin'];

/**
 * The one rule for tools: a tool may be used when every list of `allow` names it and none of `deny` does. It holds when
 * tools are offered and again when one is called.
 */
export function isAllowed(name: string, policy: ToolPolicy): boolean {
  return policy.allow.every((list) => isListed(name, list)) && !isListed(name, policy.deny);
}

/** Whether a list of names and globs means this tool. */
function isListed(name: string, list: readonly string[]): boolean {
  const names = SHELL_FAMILY.includes(name) ? SHELL_FAMILY : [name];
  return list.some((pattern) => names.some((candidate) => matchesGlob(candidate, pattern)));
}
