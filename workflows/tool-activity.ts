import { refusalOutput } from '../protocol/errors.ts';
import type { ApprovalNeed, PlannedCall, ToolAnswer, ToolCall, ToolOutput } from '../protocol/index.ts';
import { callTool, problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { askApproval, missApproval } from './operations/approval.ts';
import { MovesOn } from './step-under-way.ts';
import type { Stoppable } from './stoppable.ts';
import { toolOutput } from './tool-output.ts';

/**
 * Has a worker do a call, once a person has allowed it where that is needed.
 *
 * @param work what the call belongs to: the turn, or an operation of a client
 */
export async function runActivity(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  call: ToolCall,
): Promise<ToolOutput> {
  const isTurn = work === agent.running;
  if (isTurn) agent.standing.waitingFor = 'tool';
  try {
    const answer = await runAllowed(agent, work, plan, call);
    if (answer === undefined) {
      return toolOutput(
        plan,
        unknownOutcome(plan, 'it was interrupted and did not say in time that it had stopped'),
        false,
      );
    }
    if (answer.command_session !== undefined) agent.commands.heard(answer.command_session, plan.summary);
    if (answer.plan !== undefined) {
      agent.standing.setPlan(answer.plan.plan, Date.now());
      agent.emit({ type: 'plan.updated', ...answer.plan });
    }
    if (answer.approval_missing === true) missApproval(agent, plan.call_id);
    agent.conversation.madeByWorker(plan.call_id);
    const { output: text, success, handle, image } = answer;
    return {
      ...toolOutput(plan, text, success),
      ...(handle === undefined ? {} : { handle }),
      ...(image === undefined ? {} : { image }),
    };
  } catch (error) {
    if (error instanceof MovesOn) throw error;
    const problem = problemOf(error);
    if (plan.command_session !== undefined) agent.commands.lost(plan.command_session);
    if (work.stopReason !== undefined) {
      const ended = plan.command_session === undefined ? '' : ', and its session ended';
      return toolOutput(
        plan,
        `The call was interrupted${ended}; what it had done until then stays done.`,
        false,
      );
    }
    if (problem.kind === 'failed') {
      return toolOutput(plan, refusalOutput({ code: 'tool_failed', message: problem.message }), false);
    }
    if (problem.kind === 'lost' && problem.neverBegan === true)
      return toolOutput(plan, sessionGone(plan), false);
    const why = problem.kind === 'lost' ? problem.message : 'its worker was shut down';
    if (plan.effects === 'none') {
      return toolOutput(
        plan,
        refusalOutput({ code: 'tool_failed', message: `${plan.name} did not end: ${why}` }),
        false,
      );
    }
    const also =
      plan.command_session === undefined ? '' : `, and session ${plan.command_session} is gone with it`;
    return toolOutput(plan, unknownOutcome(plan, `${why}${also}`), false);
  } finally {
    if (isTurn) agent.standing.waitingFor = undefined;
  }
}

/** Runs a call, and again when a person had to allow it first; undefined when an interrupt left it behind. */
async function runAllowed(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  call: ToolCall,
): Promise<ToolAnswer | undefined> {
  let need: ApprovalNeed | undefined = agent.step?.parked(plan.call_id)?.approval;
  if (need === undefined) {
    const answer = await attempt(agent, work, plan, { call });
    if (answer?.needs_approval === undefined) return answer;
    need = answer.needs_approval;
  }
  const refusal = await askApproval(agent, need, plan.call_id, plan.name);
  if (refusal !== undefined) return { output: refusalOutput(refusal), success: false };
  if (work === agent.running) agent.standing.waitingFor = 'tool';
  return attempt(agent, work, plan, { call, approved: true });
}

async function attempt(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  request: { call: ToolCall; approved?: boolean },
): Promise<ToolAnswer | undefined> {
  const { command_session: session } = plan;
  const queue = session === undefined ? undefined : agent.commands.queueOf(session);
  const running = callTool({ agent: agent.reference(), ...request }, plan, queue);
  running.catch(() => {});
  return Promise.race([running, work.overdue]);
}

function unknownOutcome(plan: Extract<PlannedCall, { kind: 'activity' }>, why: string): string {
  const what = plan.summary === '' ? plan.name : `${plan.name} (${plan.summary})`;
  return refusalOutput({
    code: 'outcome_unknown',
    message: `It is unknown whether ${what} had its effect: ${why}.`,
    hint: plan.if_lost ?? 'Look at what is there before you try again.',
  });
}

function sessionGone({ command_session: session }: { command_session?: number }): string {
  return refusalOutput({
    code: 'command_session_not_found',
    message: `Session ${session} is gone: the worker that held it does not answer, and its command was ended with it.`,
    hint: 'Nothing was typed. How far the command came is unknown: look at what is there before you start it again.',
  });
}
