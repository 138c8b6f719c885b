import {
  type AgentSettings,
  SANDBOX_MODES,
  type SandboxMode,
  type ToolPolicy,
} from '../../protocol/index.ts';
import type { Persona, Role } from './role.ts';

/** Tools that write to files by themselves, without the sandbox of commands. */
const WRITING_TOOLS = ['apply_patch'];

/** The settings of an agent under a role, and a persona of it: never wider than what it inherits. */
export function tighten(
  inherited: AgentSettings,
  role: Role,
  effectTools: readonly string[],
  persona?: Persona,
): Pick<AgentSettings, 'sandbox_mode' | 'tool_policy' | 'limits'> {
  const { limits } = inherited;
  const maxTurns = least(limits.max_turns, role.max_turns);
  const maxTokens = least(limits.max_tokens, persona?.max_tokens ?? role.max_tokens);
  return {
    sandbox_mode: role.read_only ? stricter(inherited.sandbox_mode, 'read-only') : inherited.sandbox_mode,
    tool_policy: narrower(
      inherited.tool_policy,
      role,
      role.read_only ? [...WRITING_TOOLS, ...effectTools] : [],
    ),
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

/** Lists that are there already are not added again, so that a deep tree does not pile them up. */
function narrower(policy: ToolPolicy, role: Role, denied: readonly string[]): ToolPolicy {
  const known = new Set(policy.allow.map((list) => JSON.stringify(list)));
  const lists = [role.tools, role.allow_list].filter((list) => list !== undefined);
  return {
    allow: [...policy.allow, ...lists.filter((list) => !known.has(JSON.stringify(list)))],
    deny: [...new Set([...policy.deny, ...(role.deny_list ?? []), ...denied])],
  };
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
