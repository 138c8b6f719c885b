import type { ApprovalRule } from '../../protocol/index.ts';
import { harmless } from '../terminal-text.ts';

/** What was written down, and where: so that a person sees what holds from now on. */
export function savedText({ rule, file }: { rule: ApprovalRule; file: string }): string {
  const { command, folder, sandbox_mode: mode, outside_sandbox: outside } = rule;
  const where = folder === undefined ? '' : ` in ${folder}`;
  const how = outside === true ? ', outside of any sandbox' : ', inside its sandbox';
  return harmless(
    `  saved for later sessions: ${command}${where}, for agents that are ${mode}${how} (${file})`,
  );
}
