import { CancellationScope, condition, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import type { BudgetRefusal, ErrorCode, Item, ModelAnswer } from '../protocol/index.ts';
import { plainText } from '../protocol/items.ts';
import { callModel, problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { askBudget } from './operations/budget.ts';
import { RunningTurn } from './running-turn.ts';
import { runToolCalls } from './tool-calls.ts';

export type TurnOutcome =
  | { status: 'completed'; message: string }
  | { status: 'errored'; message: string; code: ErrorCode }
  | { status: 'interrupted'; message: string };

/** A conversation larger than this would not fit into the input of a new run. */
const CARRIED_BYTES = 1_500_000;

/**
 * One turn: steps of a model call and its tool calls until an answer, an interrupt or a limit.
 *
 * @returns how it ended, or that it goes on in a new run of the workflow
 */
export async function runTurn(agent: AgentState): Promise<TurnOutcome | 'continue_as_new'> {
  const running = new RunningTurn();
  agent.running = running;
  agent.tokensLeased = 0;
  const clock = watchTheClock(agent, running);
  try {
    return await running.scope.run(() => takeSteps(agent, running));
  } catch (error) {
    if (isCancellation(error) && running.stopReason !== undefined) return stopped(agent, running);
    throw error;
  } finally {
    clock.cancel();
    agent.running = undefined;
  }
}

/** Stops the turn when it has taken all of its time, what it took in earlier runs of the workflow included. */
function watchTheClock(agent: AgentState, running: RunningTurn): CancellationScope {
  const scope = new CancellationScope();
  const { max_wall_ms: most } = agent.settings.limits;
  if (most === undefined) return scope;
  const left = Math.max(0, agent.standing.turnStarted + most - Date.now());
  scope
    .run(() => sleep(left, { summary: 'agents.max_wall_ms' }))
    .then(
      () =>
        running.stop(`The limit of ${most} ms for one turn was reached (agents.max_wall_ms).`, 'limit_wall'),
      () => {},
    );
  return scope;
}

async function takeSteps(agent: AgentState, running: RunningTurn): Promise<TurnOutcome | 'continue_as_new'> {
  for (;;) {
    if (running.stopReason !== undefined) return stopped(agent, running);
    if (shouldContinueAsNew(agent)) return 'continue_as_new';
    deliverInputs(agent);
    const { max_steps: most } = agent.settings.limits;
    if (agent.standing.step >= most) return outOfSteps(agent, most);
    const refusal = await askBudget(agent);
    if (refusal !== undefined) return outOfTokens(agent, refusal);
    const answer = await takeStep(agent, false);
    if ('status' in answer) return answer;
    if (answer.calls.length > 0) {
      await runToolCalls(agent, answer.items, answer.calls);
      continue;
    }
    const text = textOf(answer.items);
    if (text === '' && !agent.inbox.hasInput) return emptyAnswer();
    if (agent.inbox.hasInput) continue;
    if (await settledBelow(agent)) return { status: 'completed', message: text };
    const { max_turns: turns } = agent.settings.limits;
    if (turns !== undefined && agent.standing.turn >= turns) return outOfTurns(turns, text);
    nextTurn(agent, text);
  }
}

/** Whether the agent may go on in a new run: the server suggests it, and all that it has to carry fits. */
export function shouldContinueAsNew(agent: AgentState): boolean {
  return workflowInfo().continueAsNewSuggested && agent.conversation.bytes <= CARRIED_BYTES;
}

async function takeStep(agent: AgentState, final: boolean): Promise<ModelAnswer | TurnOutcome> {
  const { standing, conversation } = agent;
  agent.roleAnswers.clear();
  standing.startStep(Date.now());
  standing.waitingFor = 'model';
  agent.onChange();
  const request = { agent: agent.reference(), pointer: agent.pointer, fresh: conversation.fresh, final };
  try {
    const summary = `model ${agent.settings.model} · turn ${standing.turn}`;
    const answer = await callModel(request, agent.settings, summary);
    conversation.appendKnown(answer.items);
    standing.used(answer.usage, Date.now());
    emitAnswer(agent, answer);
    return answer;
  } catch (error) {
    const problem = problemOf(error);
    if (problem.kind === 'cancelled' || agent.running?.stopReason !== undefined) throw error;
    const code = problem.kind === 'failed' ? problem.code : 'model_unreachable';
    return { status: 'errored', message: problem.message, code };
  } finally {
    standing.waitingFor = undefined;
  }
}

function outOfSteps(agent: AgentState, most: number): Promise<TurnOutcome> {
  return handBack(agent, {
    code: 'limit_steps',
    message: `The limit of ${most} steps in one turn was reached (agents.max_steps).`,
    notice: `You have taken all ${most} steps of this turn and can call no more tools.`,
  });
}

/** What is left of a budget is kept for last reports; without anything left there is none. */
async function outOfTokens(agent: AgentState, refusal: BudgetRefusal): Promise<TurnOutcome> {
  const { outcome, holder, used, limit } = refusal;
  const isShare = holder !== agent.identity.session_id;
  const message = isShare
    ? `The limit of ${limit} tokens for ${holder} and all agents below it was reached: ${used} are used (max_tokens of its role, or agents.max_child_tokens).`
    : `The limit of ${limit} tokens was reached: ${used} are used (agents.max_tokens).`;
  const code = 'limit_tokens';
  if (outcome === 'stop') return { status: 'errored', message: withHandBack(message, lastText(agent)), code };
  return handBack(agent, {
    code,
    message,
    notice: `The tokens ${isShare ? 'that you may use' : 'of this session'} are used up: you can call no more tools.`,
  });
}

/** One more call, without tools, asks for what there is. The turn does not count as done. */
async function handBack(
  agent: AgentState,
  limit: { code: ErrorCode; message: string; notice: string },
): Promise<TurnOutcome> {
  agent.conversation.append({
    type: 'notice',
    text: `${limit.notice} Say what you have found or done, what is missing, and how to go on.`,
  });
  const answer = await takeStep(agent, true);
  if ('status' in answer) return answer;
  // No call may stay without an output, or no provider takes the conversation any more.
  if (answer.calls.length > 0) await runToolCalls(agent, answer.items, answer.calls);
  return { status: 'errored', message: withHandBack(limit.message, textOf(answer.items)), code: limit.code };
}

function outOfTurns(most: number, text: string): TurnOutcome {
  const message = `The limit of ${most} turns was reached (agents.max_turns), and agents below have reported since.`;
  return { status: 'errored', message: withHandBack(message, text), code: 'limit_turns' };
}

function withHandBack(limit: string, handed: string): string {
  return handed === '' ? limit : `${limit} Handed back: ${handed}`;
}

/**
 * A one-shot root that has answered waits for whatever still runs below it.
 *
 * @returns true when nothing has come of it, so that the answer stands; false when there is news for the model
 */
async function settledBelow(agent: AgentState): Promise<boolean> {
  const { session, tree, inbox } = agent;
  if (tree === undefined || session === undefined || !session.one_shot || !session.wait_agents) return true;
  if (tree.busy) {
    agent.standing.waitingFor = 'agents';
    agent.onChange();
    await condition(() => !tree.busy || inbox.hasInput || agent.closing !== undefined);
    agent.standing.waitingFor = undefined;
  }
  return !inbox.hasInput && !inbox.hasNotice;
}

function nextTurn(agent: AgentState, message: string): void {
  const { standing } = agent;
  const durationMs = Date.now() - standing.turnStarted;
  agent.emit({ type: 'turn.completed', turn: standing.turn, message, duration_ms: durationMs });
  standing.nextTurn(Date.now());
  agent.emit({ type: 'turn.started', turn: standing.turn });
}

function deliverInputs(agent: AgentState): void {
  const items = agent.inbox.drain();
  for (const item of items) {
    if (item.type !== 'user_message') continue;
    const from = item.from === undefined ? {} : { from: item.from };
    agent.emit({ type: 'message', role: 'user', text: plainText(item.content), ...from });
  }
  agent.conversation.append(...items);
}

function emitAnswer(agent: AgentState, answer: ModelAnswer): void {
  for (const item of answer.items) {
    if (item.type === 'assistant_message')
      agent.emit({ type: 'message', role: 'assistant', text: item.text });
    if (item.type === 'reasoning' && item.summary !== '')
      agent.emit({ type: 'reasoning', text: item.summary });
  }
  agent.emit({ type: 'usage', usage: answer.usage });
}

function textOf(items: Item[]): string {
  return items
    .flatMap((item) => (item.type === 'assistant_message' ? [item.text] : []))
    .join('\n\n')
    .trim();
}

function emptyAnswer(): TurnOutcome {
  return {
    status: 'errored',
    message: 'The model answered with neither text nor a tool call.',
    code: 'model_answer_empty',
  };
}

/** A limit of time leaves no time to ask for a hand-back: what the agent has said last is what there is. */
function stopped(agent: AgentState, running: RunningTurn): TurnOutcome {
  const message = running.stopReason ?? 'interrupted';
  if (running.limit === undefined) return { status: 'interrupted', message };
  return { status: 'errored', message: withHandBack(message, lastText(agent)), code: running.limit };
}

/** What the agent has said last in this turn. */
function lastText(agent: AgentState): string {
  const { items } = agent.conversation;
  const begun = items.findLastIndex((item) => item.type === 'user_message');
  const said = items
    .slice(begun + 1)
    .findLast((item) => item.type === 'assistant_message' && item.text.trim() !== '');
  return said?.type === 'assistant_message' ? said.text.trim() : '';
}
