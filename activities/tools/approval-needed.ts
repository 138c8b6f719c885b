import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  APPROVAL_KINDS,
  type ApprovalNeed,
  type ApprovalPolicy,
  approvalRuleSchema,
  CadreError,
  explain,
} from '../../protocol/index.ts';
import { withHiddenShown, withoutBlanksAround } from '../policy/hidden-characters.ts';

/** Told by this, since a tool may come with another copy of Cadre than the worker that runs it. */
const MARK = Symbol.for('cadre.ApprovalNeeded');
/** What a person still reads; the rest is said to be missing. */
const MOST_SHOWN = 4_000;
/** Keys travel to the root and stay there. */
const MOST_KEY = 500;

const needSchema = z.object({
  kind: z.enum(APPROVAL_KINDS),
  summary: z.string(),
  reason: z.string(),
  key: z.string(),
  path: z.string().optional(),
  rule: approvalRuleSchema.optional(),
});

/**
 * Thrown by a tool that has done nothing yet: a person has to allow the call first. Once allowed, the tool is called
 * again with `context.approved`. Where nobody can be asked, or the policy is never to ask, the model reads a refusal.
 *
 * @example
 * if (!context.approved) {
 *   throw new ApprovalNeeded({ kind: 'command', summary: `deploy to ${host}`, reason: 'it changes what users see', key: host });
 * }
 */
export class ApprovalNeeded extends CadreError {
  readonly need: ApprovalNeed;
  readonly [MARK] = true;
  readonly #subject: string;

  /**
   * @param need `key` names the question: for the rest of the session, a person who allows one allows all with it
   * @param options `subject`: what the refusal calls it; `hint`: what the model can do instead
   */
  constructor(need: ApprovalNeed, options: { subject?: string; hint?: string } = {}) {
    const { subject = 'This call', hint } = options;
    const { kind, summary, key, path, rule, reason: given } = checkedNeed(need);
    const reason = shown(given);
    super(
      'approval_unavailable',
      `${subject} needs an approval: ${reason}.`,
      hint === undefined ? {} : { hint },
    );
    this.#subject = subject;
    this.need = {
      kind,
      summary: shown(summary),
      reason,
      key: key.length <= MOST_KEY ? key : createHash('sha256').update(key).digest('hex'),
      ...(path === undefined ? {} : { path }),
      ...(rule === undefined ? {} : { rule }),
    };
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && MARK in value;
  }

  /** Why a person is not even asked; undefined when one is. */
  refusal(where: { nonInteractive: boolean; policy: ApprovalPolicy }): CadreError | undefined {
    if (where.nonInteractive) return this.#refused('approval_unavailable', 'nobody can be asked');
    if (where.policy === 'never') return this.#refused('approval_denied', 'the approval policy is "never"');
    return undefined;
  }

  #refused(code: 'approval_unavailable' | 'approval_denied', why: string): CadreError {
    const message = `${this.#subject} needs an approval, and ${why}: ${this.need.reason}.`;
    return new CadreError(code, message, this.hint === undefined ? {} : { hint: this.hint });
  }
}

/**
 * What a person is to be asked, without anything else that stands there: it comes from the code of tools.
 *
 * @throws CadreError `tool_failed` for what nobody can be asked
 */
export function checkedNeed(need: unknown): ApprovalNeed {
  const parsed = needSchema.safeParse(need);
  if (parsed.success) return parsed.data as ApprovalNeed;
  throw new CadreError(
    'tool_failed',
    `It asks for an approval that nobody can be asked for: ${explain(parsed.error)}`,
    { hint: 'Nothing was done. The author of the tool can mend this.' },
  );
}

/** One line on which nothing is hidden: what a person would not see is shown by its number, and a cut says so. */
function shown(text: string): string {
  const lines = withoutBlanksAround(text).split('\n');
  const line = lines.map(withHiddenShown).join(' ⏎ ');
  if (line.length <= MOST_SHOWN) return line;
  const half = MOST_SHOWN / 2;
  return `${line.slice(0, half)} … (${line.length - MOST_SHOWN} characters not shown) … ${line.slice(-half)}`;
}
