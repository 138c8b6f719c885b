import { z } from 'zod';
import { sandboxModeSchema } from './sandbox-modes.ts';

/** The longest command that a rule may name, in characters. */
export const RULE_MAX = 1_000;

/** A person's approval of a command in advance: `[approvals] allow`, or saved by `cadre approve --always`. */
export const approvalRuleSchema = z.strictObject({
  /** The words of one command; a lone `*` at the end stands for one or more further words. */
  command: z.string().min(1).max(RULE_MAX),
  /** Only where the command runs in that very folder. */
  folder: z.string().min(1).optional(),
  /** Only for agents of that sandbox mode. Absent: of any, and outside of the sandbox of any that may write. */
  sandbox_mode: sandboxModeSchema.optional(),
  /** Also where no sandbox would contain the command. */
  outside_sandbox: z.literal(true).optional(),
});
export type ApprovalRule = z.infer<typeof approvalRuleSchema>;
