import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import type { ToolContext } from './define-tool.ts';

/** How a tool that runs commands lets the model ask for one to run outside the sandbox; under the names of Codex. */
export const escalationParameters = {
  sandbox_permissions: z
    .enum(['use_default', 'require_escalated'])
    .default('use_default')
    .describe(
      'require_escalated: outside the sandbox, once a person allows it; only for what cannot work inside',
    ),
  justification: z
    .string()
    .trim()
    .min(1)
    .max(1_000)
    .optional()
    .describe('With require_escalated: what it is needed for, in a sentence for the person'),
};

export interface EscalationArguments {
  sandbox_permissions: 'use_default' | 'require_escalated';
  justification?: string | undefined;
}

/**
 * Why a command is to run outside the sandbox; undefined where it is not, or none contains the agent anyway.
 *
 * @throws CadreError `not_permitted` for an agent whose role only reads, `invalid_arguments` without a reason
 */
export function escalationOf(
  { sandbox_permissions: wanted, justification }: EscalationArguments,
  { agent: { settings } }: Pick<ToolContext, 'agent'>,
): string | undefined {
  if (wanted !== 'require_escalated' || settings.sandbox_mode === 'danger-full-access') return undefined;
  if (settings.tool_policy.read_only === true) {
    throw new CadreError(
      'not_permitted',
      `The role ${settings.role} only reads: nothing lets it out of the sandbox.`,
      {
        hint: 'Run it with use_default, or report what you would need.',
      },
    );
  }
  if (justification !== undefined) return justification;
  throw new CadreError('invalid_arguments', 'require_escalated needs a justification: a person decides.', {
    hint: 'Say in a sentence what the command is needed for, and why it cannot run inside the sandbox.',
  });
}
