import { createHash } from 'node:crypto';
import { type ApprovalNeed, type ApprovalPolicy, CadreError } from '../../protocol/index.ts';
import { withHiddenShown, withoutBlanksAround } from '../sandbox/hidden-characters.ts';

/** Told by this, since a tool may come with another copy of Cadre than the worker that runs it. */
const MARK = Symbol.for('cadre.ApprovalNeeded');
/** What a person still reads; the rest is said to be missing. */
const MOST_SHOWN = 4_000;
/** Keys travel to the root and stay there. */
const MOST_KEY = 500;

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
    const reason = shown(need.reason);
    super(
      'approval_unavailable',
      `${subject} needs an approval: ${reason}.`,
      hint === undefined ? {} : { hint },
    );
    this.#subject = subject;
    this.need = {
      kind: need.kind,
      summary: shown(need.summary),
      reason,
      key: need.key.length <= MOST_KEY ? need.key : createHash('sha256').update(need.key).digest('hex'),
      ...(need.path === undefined ? {} : { path: need.path }),
      ...(need.rule === undefined ? {} : { rule: need.rule }),
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

/** One line on which nothing is hidden: what a person would not see is shown by its number, and a cut says so. */
function shown(text: string): string {
  const lines = withoutBlanksAround(text).split('\n');
  const line = lines.map(withHiddenShown).join(' ⏎ ');
  if (line.length <= MOST_SHOWN) return line;
  const half = MOST_SHOWN / 2;
  return `${line.slice(0, half)} … (${line.length - MOST_SHOWN} characters not shown) … ${line.slice(-half)}`;
}
