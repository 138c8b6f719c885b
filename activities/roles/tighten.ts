import {
  type AgentSettings,
  type ApprovalPolicy,
  SANDBOX_MODES,
  type SandboxMode,
  type ToolPolicy,
} from '../../protocol/index.ts';
import type { Persona, Role } from './role.ts';

/** Tools that write to files by themselves, without the sandbox of commands. */
const WRITING_TOOLS = ['apply_patch'];

type Tightened = Pick<AgentSettings, 'sandbox_mode' | 'approval_policy' | 'tool_policy' | 'limits'>;

/**
 * The settings of an agent under a role, and a persona of it: never wider than what it inherits. The same again leaves
 * them as they are.
 */
export function tighten(inherited: AgentSettings, role: Role, persona?: Persona): Tightened {
  const { limits } = inherited;
  const maxTurns = least(limits.max_turns, role.max_turns);
  const maxTokens = least(limits.max_tokens, persona?.max_tokens ?? role.max_tokens);
  const mode = role.read_only ? 'read-only' : (role.sandbox_mode ?? inherited.sandbox_mode);
  return {
    sandbox_mode: stricter(inherited.sandbox_mode, mode),
    approval_policy: cautious(inherited.approval_policy, role.approval_policy),
    tool_policy: narrower(inherited.tool_policy, role, inherited.approval_policy),
    limits: {
      ...limits,
      ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      max_steps: least(limits.max_steps, role.max_steps) ?? limits.max_steps,
    },
  };
}

/** Modes are listed from the strictest on. */
function stricter(a: SandboxMode, b: SandboxMode): SandboxMode {
  return SANDBOX_MODES.indexOf(a) <= SANDBOX_MODES.indexOf(b) ? a : b;
}

/** Of those that are not the usual one neither is stricter than the other. */
function cautious(inherited: ApprovalPolicy, wanted: ApprovalPolicy = inherited): ApprovalPolicy {
  return inherited === 'on-request' ? wanted : inherited;
}

/** Lists that are there already are not added again, so that a deep tree does not pile them up. */
function narrower(policy: ToolPolicy, role: Role, approvals: ApprovalPolicy): ToolPolicy {
  const known = new Set(policy.allow.map((list) => JSON.stringify(list)));
  const lists = [role.tools, role.allow_list].filter((list) => list !== undefined);
  const denied = [...(role.deny_list ?? []), ...(role.read_only ? WRITING_TOOLS : [])];
  // Nobody may be asked about commands, which the role wants asked about.
  if (role.approval_policy === 'untrusted' && approvals === 'never') denied.push('shell');
  return {
    ...policy,
    allow: [...policy.allow, ...lists.filter((list) => !known.has(JSON.stringify(list)))],
    deny: [...new Set([...policy.deny, ...denied])],
    ...(role.read_only ? { read_only: true } : {}),
  };
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
