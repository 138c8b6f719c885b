import type { AgentSettings, ApprovalRule } from '../../protocol/index.ts';
import type { SandboxState } from '../sandbox/detect-sandbox.ts';
import type { Contain } from '../sandbox/sandboxed-command.ts';
import { isAllowedByRules } from './approval-rules.ts';
import { judgeCommand } from './harmless.ts';

const OUTSIDE = 'it asks to run outside the sandbox, where nothing would contain it';
const INSIDE = 'Run it inside the sandbox, find another way, or report what you would need.';

/** How a command may run. */
export type CommandDecision =
  /** `script`: it only reads, and does so as this. */
  | { run: 'sandboxed'; contain: Contain; script?: string }
  /** Without a sandbox. `approved`: not since everything may, but since a person has allowed this. */
  | { run: 'free'; approved: boolean }
  /** Without a sandbox, since it only reads: as this script. */
  | { run: 'harmless'; script: string }
  /** Not at all before a person allows it. `contained`: allowed, it would run inside the sandbox. */
  | { run: 'unapproved'; contained: boolean; reason: string; hint: string };

export interface AskedCommand {
  command: string | readonly string[];
  cwd: string;
  /** A person has allowed it. */
  approved: boolean;
  /** What a person has allowed in advance. */
  rules?: readonly ApprovalRule[];
  /** It is to run outside the sandbox, for this reason. */
  escalation?: string | undefined;
}

/**
 * Decides by sandbox mode, approval policy, approval and what works on this machine. What a person allows still runs
 * inside the sandbox of the agent's mode, unless none works, or the mode needs none. A rule is a person's approval, and
 * lets nothing out of the sandbox unless it says so.
 */
export function decideCommand(
  { command, cwd, approved: asked, rules = [], escalation }: AskedCommand,
  settings: Pick<AgentSettings, 'sandbox_mode' | 'approval_policy'>,
  sandbox: SandboxState,
): CommandDecision {
  const isFree = settings.sandbox_mode === 'danger-full-access';
  const isTrusted = settings.approval_policy !== 'untrusted';
  if (isFree && isTrusted) return { run: 'free', approved: false };
  const contained = sandbox.works && !isFree && escalation === undefined;
  const judged = isTrusted && contained ? undefined : judgeCommand(command, cwd);
  const mode = settings.sandbox_mode;
  const approved =
    asked || (judged !== undefined && isAllowedByRules({ command, cwd, mode, contained }, rules));
  const isAllowed = judged === undefined || judged.harmless || approved;
  // What only reads runs inside also where it asks to leave: it needs nothing outside, and there somebody would be asked.
  const leaves = !contained && approved;
  if (sandbox.works && !isFree && judged?.harmless && !leaves)
    return { run: 'sandboxed', contain: sandbox.contain, script: judged.script };
  if (sandbox.works && contained && isAllowed) return { run: 'sandboxed', contain: sandbox.contain };
  if (judged?.harmless) return { run: 'harmless', script: judged.script };
  if (approved) return { run: 'free', approved };
  const explanation = explained(judged?.reason ?? '', isTrusted, isFree, sandbox);
  if (escalation === undefined) return { run: 'unapproved', contained, ...explanation };
  return { run: 'unapproved', contained, reason: `${OUTSIDE}: ${escalation}`, hint: INSIDE };
}

function explained(
  reason: string,
  isTrusted: boolean,
  isFree: boolean,
  sandbox: SandboxState,
): { reason: string; hint: string } {
  const open = sandbox.works && !isFree ? '' : ', and nothing would contain it';
  const cause = isTrusted ? 'no sandbox works here' : 'the approval policy is "untrusted"';
  const mend = !isTrusted || sandbox.works ? '' : ` A person can mend it: ${sandbox.hint}`;
  return {
    reason: `${cause}${open} (${reason})`,
    hint: `Commands that only read run without one: plain ls, cat, head, rg, find, wc, git status or log and the like, without redirections, expansions or globs.${mend}`,
  };
}
