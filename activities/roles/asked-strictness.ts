import {
  type AgentSettings,
  APPROVAL_POLICIES,
  type ApprovalPolicy,
  CadreError,
  type RoleRequest,
  SANDBOX_MODES,
  type SandboxMode,
} from '../../protocol/index.ts';

type Strictness = Pick<AgentSettings, 'sandbox_mode' | 'approval_policy'>;

/**
 * What a call asks for of sandbox and approvals: what the new agent would have otherwise, or something stricter.
 *
 * @throws CadreError `not_permitted` with what is accepted
 */
export function askedStrictness(
  settings: Strictness,
  {
    sandbox_mode: sandbox,
    approval_policy: approvals,
  }: Pick<RoleRequest, 'sandbox_mode' | 'approval_policy'>,
): Strictness {
  const modes = SANDBOX_MODES.slice(0, SANDBOX_MODES.indexOf(settings.sandbox_mode) + 1);
  const policies = strictnessOf(settings.approval_policy);
  return {
    sandbox_mode: oneOf('sandbox_mode', modes, sandbox) ?? settings.sandbox_mode,
    approval_policy: oneOf('approval_policy', policies, approvals) ?? settings.approval_policy,
  };
}

/** Of those that are not the usual one neither is stricter than the other. */
function strictnessOf(policy: ApprovalPolicy): readonly ApprovalPolicy[] {
  return policy === 'on-request' ? APPROVAL_POLICIES : [policy];
}

function oneOf<T extends SandboxMode | ApprovalPolicy>(
  what: string,
  accepted: readonly T[],
  asked: T | undefined,
): T | undefined {
  if (asked === undefined || accepted.includes(asked)) return asked;
  throw new CadreError(
    'not_permitted',
    `The ${what} "${asked}" is looser than what the new agent may have.`,
    {
      hint: `Accepted: ${accepted.join(', ')}.`,
    },
  );
}
