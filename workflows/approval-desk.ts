import { decided, shownOf } from '../protocol/approvals.ts';
import type { Approval, DecideApproval, Verdict } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';

/** The root's side of approvals: takes the questions of its session, and passes decisions on to those who asked. */

export function takeQuestion(root: AgentState, approval: Approval): void {
  const approvals = root.tree?.approvals;
  if (approvals === undefined) return;
  if (!approvals.add(approval)) {
    const verdict = { request_id: approval.approval_id, decision: 'approve_for_session' } as const;
    answer(root, approval, { ...verdict, reason: 'allowed for the session before' });
    return;
  }
  if (approval.asking_id !== root.id) root.emit({ type: 'approval.requested', ...shownOf(approval) });
  root.onChange();
}

/**
 * A person has decided; the payload was checked to name a question that is open.
 *
 * @returns the questions that it answers, the decided one first
 */
export function decide(root: AgentState, decision: DecideApproval): Approval[] {
  const answered = root.tree?.approvals.decide(decision) ?? [];
  for (const approval of answered) {
    const { approval_id: id } = approval;
    if (approval.asking_id !== root.id) {
      root.emit({ type: 'approval.decided', ...decided(approval, decision) });
    }
    answer(root, approval, {
      request_id: id,
      decision: decision.decision,
      ...(decision.reason === undefined ? {} : { reason: decision.reason }),
    });
  }
  root.onChange();
  return answered;
}

function answer(root: AgentState, approval: Approval, verdict: Verdict): void {
  if (approval.asking_id === root.id) root.verdicts.answer(verdict);
  else root.outbox.post(approval.asking_id, { type: 'verdict', verdict });
}
