import type { Approval, DecideApproval, Verdict } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';

/** The root's side of approvals: takes the questions of its session, and passes decisions on to those who asked. */

export function takeQuestion(root: AgentState, approval: Approval): void {
  const approvals = root.tree?.approvals;
  if (approvals === undefined) return;
  if (!approvals.add(approval)) {
    answer(root, approval, { request_id: approval.approval_id, decision: 'approve_for_session' });
    return;
  }
  if (approval.asking_id !== root.id) root.emit({ type: 'approval.requested', ...shown(approval) });
  root.onChange();
}

/** A person has decided; the payload was checked to name a question that is open. */
export function decide(root: AgentState, decision: DecideApproval): void {
  for (const approval of root.tree?.approvals.decide(decision) ?? []) {
    const { approval_id: id } = approval;
    if (approval.asking_id !== root.id) {
      root.emit({ type: 'approval.decided', approval_id: id, decision: decision.decision });
    }
    answer(root, approval, {
      request_id: id,
      decision: decision.decision,
      ...(decision.reason === undefined ? {} : { reason: decision.reason }),
    });
  }
  root.onChange();
}

/** What stands of a question in an event. */
export function shown({ approval_id, asking_id, summary }: Approval) {
  return { approval_id, asking_id, summary };
}

function answer(root: AgentState, approval: Approval, verdict: Verdict): void {
  if (approval.asking_id === root.id) root.verdicts.answer(verdict);
  else root.outbox.post(approval.asking_id, { type: 'verdict', verdict });
}
