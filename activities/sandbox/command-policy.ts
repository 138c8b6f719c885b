import type { AgentSettings, ErrorBody } from '../../protocol/index.ts';
import type { SandboxState } from './detect-sandbox.ts';
import { judgeCommand } from './harmless.ts';

/** How a command may run. */
export type CommandDecision =
  | { run: 'sandboxed'; bubblewrap: Extract<SandboxState, { works: true }>['bubblewrap'] }
  /** Without a sandbox, as the person has asked for. */
  | { run: 'free' }
  /** Without a sandbox, since it only reads: as this script. */
  | { run: 'harmless'; script: string }
  | { run: 'refused'; error: ErrorBody };

/** Decides by sandbox mode, approval policy and what works on this machine; nobody is asked yet. */
export function decideCommand(
  command: string | readonly string[],
  cwd: string,
  settings: Pick<AgentSettings, 'sandbox_mode' | 'approval_policy'>,
  sandbox: SandboxState,
): CommandDecision {
  const isFree = settings.sandbox_mode === 'danger-full-access';
  const isTrusted = settings.approval_policy !== 'untrusted';
  if (isFree && isTrusted) return { run: 'free' };
  if (sandbox.works && !isFree && isTrusted) return { run: 'sandboxed', bubblewrap: sandbox.bubblewrap };

  const judged = judgeCommand(command, cwd);
  if (!judged.harmless) return { run: 'refused', error: approvalNeeded(judged.reason, isTrusted, sandbox) };
  if (sandbox.works && !isFree) return { run: 'sandboxed', bubblewrap: sandbox.bubblewrap };
  return { run: 'harmless', script: judged.script };
}

function approvalNeeded(reason: string, isTrusted: boolean, sandbox: SandboxState): ErrorBody {
  const why = isTrusted || sandbox.works ? '' : ' and nothing could contain it';
  const cause = !isTrusted ? 'the approval policy is "untrusted"' : 'no sandbox works here';
  const mend = !isTrusted || sandbox.works ? '' : ` A person can mend it: ${sandbox.hint}`;
  return {
    code: 'approval_unavailable',
    message: `This command needs an approval, since ${cause}${why}, and nobody can be asked: ${reason}.`,
    hint: `Commands that only read run without one: plain ls, cat, head, rg, find, wc, git status or log and the like, without redirections, expansions or globs.${mend}`,
    retryable: false,
  };
}
