import { decided, shownOf } from '../../protocol/approvals.ts';
import type { Approval, ApprovalNeed, ErrorBody, Verdict } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { takeQuestion } from '../approval-desk.ts';
import { MovesOn } from '../step-under-way.ts';
import { waitInCall } from '../wait-in-call.ts';
import { lendingSlot } from './slot.ts';

/**
 * Asks a person, by way of the root, whether a call may do what it is about to do, and waits for the answer however
 * long that takes; others get this agent's slot meanwhile. An interrupt of the turn takes the question back.
 *
 * @returns undefined when it is allowed, else why not, as the model is told
 */
export async function askApproval(
  agent: AgentState,
  need: ApprovalNeed,
  callId: string,
  tool = toolOf(agent, callId),
): Promise<ErrorBody | undefined> {
  const asked = agent.step?.parked(callId)?.approval;
  const approval: Approval = asked ?? {
    ...need,
    approval_id: agent.nextId('approvals'),
    asking_id: agent.id,
    role: agent.settings.role,
    call_id: callId,
    ...(tool === undefined ? {} : { tool }),
    requested_at: new Date(Date.now()).toISOString(),
  };
  const { approval_id: id } = approval;
  agent.questions.set(id, approval);
  // A question of an earlier run has been put.
  if (asked === undefined) {
    agent.emit({ type: 'approval.requested', ...shownOf(approval) });
    if (agent.isRoot) takeQuestion(agent, approval);
    else agent.postToRoot({ type: 'approval', approval });
    agent.report();
  } else agent.onChange();
  let movesOn = false;
  try {
    const verdict = await lendingSlot(agent, callId, () => untilDecided(agent, approval));
    if (verdict === undefined) return { code: 'agent_closed', message: `agent ${agent.id} is closing` };
    agent.emit({ type: 'approval.decided', ...decided(approval, verdict) });
    // A client's call is no part of the turn.
    if (verdict.decision === 'abort' && !agent.operations.has(callId)) {
      agent.orders.push({ type: 'interrupt', reason: reasonOf(verdict) ?? 'a person aborted it' });
    }
    return refusalOf(verdict, need);
  } catch (error) {
    movesOn = error instanceof MovesOn;
    throw error;
  } finally {
    if (!movesOn) {
      takeBack(agent, approval);
      agent.report();
    }
  }
}

async function untilDecided(agent: AgentState, approval: Approval): Promise<Verdict | undefined> {
  const { approval_id: id, call_id: callId } = approval;
  const isClosing = (): boolean => agent.closing !== undefined;
  await waitInCall(agent, callId, { approval }, () => agent.verdicts.has(id) || isClosing());
  const verdict = await agent.verdicts.await(id, isClosing);
  // From here on it waits for nobody but, maybe, its slot.
  agent.questions.delete(id);
  return verdict;
}

/** A call was refused since nobody could be asked; one that a client has made says nothing about the turn. */
export function missApproval(agent: AgentState, callId: string): void {
  if (!agent.operations.has(callId)) agent.standing.missApproval(Date.now());
}

/** One that a client has made stands in no conversation. */
function toolOf({ conversation }: AgentState, callId: string): string | undefined {
  return conversation.callOf(callId)?.name;
}

function refusalOf(verdict: Verdict, need: ApprovalNeed): ErrorBody | undefined {
  if (verdict.decision === 'approve' || verdict.decision === 'approve_for_session') return undefined;
  const reason = reasonOf(verdict);
  return {
    code: 'approval_denied',
    message: `A person denied this${reason === undefined ? '' : `: ${reason}`} (${need.summary}).`,
    hint: 'Do not try the same again; find another way, or say what you would need it for.',
  };
}

function reasonOf({ reason }: Verdict): string | undefined {
  return reason === undefined || reason.trim() === '' ? undefined : reason.trim();
}

/** Nobody waits for the answer any more; one that was decided is no longer there. */
export function takeBack(agent: AgentState, { approval_id: id }: Approval): void {
  agent.questions.delete(id);
  agent.verdicts.forget(id);
  if (agent.isRoot) agent.tree?.approvals.withdraw(id);
  else agent.postToRoot({ type: 'approval_withdrawn', approval_id: id });
}
