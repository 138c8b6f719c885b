import { counted } from '../protocol/counted.ts';
import type { BudgetRefusal, ErrorBody, ErrorCode } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import { takeStep, textOf } from './model-step.ts';
import { StepUnderWay } from './step-under-way.ts';
import type { Stoppable } from './stoppable.ts';
import { runToolCalls } from './tool-calls.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** How a turn ends that may not go on. A limit never counts as done: what the agent hands back stands beside it. */

/** Ends a turn that has taken all its steps. */
export function outOfSteps(agent: AgentState, running: Stoppable, most: number): Promise<TurnOutcome> {
  return handBack(agent, running, {
    code: 'limit_steps',
    message: `The limit of ${counted(most, 'step')} in one turn was reached (agents.max_steps).`,
    notice: `You have taken the ${counted(most, 'step')} of this turn and can call no more tools.`,
  });
}

/** What is left of a budget is kept for last reports; where a step has used that up, too, there is none. */
export async function outOfTokens(
  agent: AgentState,
  running: Stoppable,
  refusal: BudgetRefusal,
): Promise<TurnOutcome> {
  const { outcome, holder, used, limit } = refusal;
  const isShare = holder !== agent.identity.session_id;
  const rest = used < limit ? ', and the rest is kept for steps under way and last reports' : '';
  const message = isShare
    ? `The limit of ${limit} tokens for ${holder} and all agents below it was reached: ${used} are used${rest} (max_tokens of its role, or agents.max_child_tokens).`
    : `The limit of ${limit} tokens was reached: ${used} are used${rest} (agents.max_tokens).`;
  const code = 'limit_tokens';
  if (outcome === 'stop') {
    const why =
      used < limit
        ? `What is left does not hold a report of this agent, so none was asked for.`
        : 'What is kept for a last report is used up, too, so none was asked for.';
    return { status: 'errored', message: withLastWords(agent, `${message} ${why}`), code };
  }
  return handBack(agent, running, {
    code,
    message,
    notice: `The tokens ${isShare ? 'that you may use' : 'of this session'} are used up: you can call no more tools.`,
  });
}

/** One more call, without tools, asks for what there is. The turn does not count as done, whatever comes of that. */
async function handBack(
  agent: AgentState,
  running: Stoppable,
  limit: { code: ErrorCode; message: string; notice: string },
): Promise<TurnOutcome> {
  agent.conversation.append({
    type: 'notice',
    text: `${limit.notice} Say what you have found or done, what is missing, and how to go on.`,
  });
  const answer = await takeStep(agent, true);
  const { code } = limit;
  if ('status' in answer) {
    const message = `${limit.message} The report that was asked for did not come: ${answer.message}`;
    return { status: 'errored', message, code };
  }
  // No call may stay without an output, or no provider takes the conversation any more.
  // Calls of an answer without tools are all refused, and wait for nothing.
  agent.step = new StepUnderWay(answer.calls);
  await runToolCalls(agent, running);
  return { status: 'errored', message: withHandBack(limit.message, textOf(answer.items)), code };
}

/** Ends a one-shot root whose turns are used up, though there is news from below. */
export function outOfTurns(most: number, text: string): TurnOutcome {
  const message = `The limit of ${counted(most, 'turn')} was reached (agents.max_turns), and agents below have reported since.`;
  return { status: 'errored', message: `${message} Last answer: ${text}`, code: 'limit_turns' };
}

function withHandBack(limit: string, handed: string): string {
  return `${limit} ${handed === '' ? 'The report that was asked for came back empty.' : `Handed back: ${handed}`}`;
}

/** Ends a turn that has waited in vain for a slot. */
export function withoutSlot({ message, code }: ErrorBody): TurnOutcome {
  return { status: 'errored', message, code };
}

/** Ends a turn that was stopped. A limit of time leaves no time to ask for a report. */
export function stopped(agent: AgentState, running: Stoppable): TurnOutcome {
  const message = running.stopReason ?? 'interrupted';
  const { limit: code, isAlong } = running;
  if (code === undefined) return { status: 'interrupted', message, ...(isAlong ? { along: true } : {}) };
  return { status: 'errored', message: withLastWords(agent, `${message} No report was asked for.`), code };
}

/** What the agent has said last in this turn stands for what it is: it is no report. */
function withLastWords({ conversation }: AgentState, limit: string): string {
  const said = conversation.ofTurn.findLast(
    (item) => item.type === 'assistant_message' && item.text.trim() !== '',
  );
  return said?.type === 'assistant_message' ? `${limit} Last said in this turn: ${said.text.trim()}` : limit;
}
