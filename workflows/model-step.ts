import type { Item, ModelAnswer } from '../protocol/index.ts';
import { plainText } from '../protocol/items.ts';
import { callModel, problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** Puts what waits for the agent into its conversation. */
export function deliverInputs(agent: AgentState): void {
  const items = agent.inbox.drainForTurn(agent.standing.step === 0);
  for (const item of items) {
    if (item.type !== 'user_message') continue;
    const from = item.from === undefined ? {} : { from: item.from };
    agent.emit({ type: 'message', role: 'user', text: plainText(item.content), ...from });
  }
  agent.conversation.append(...items);
}

/**
 * One model call.
 *
 * @param final without tools: the model is to hand back what it has
 * @returns its answer, or how the turn ends where there is none
 */
export async function takeStep(agent: AgentState, final: boolean): Promise<ModelAnswer | TurnOutcome> {
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
    if (answer.nearly_full) conversation.compact ??= 'window';
    for (const text of answer.warnings ?? []) agent.warn(text);
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

function emitAnswer(agent: AgentState, answer: ModelAnswer): void {
  for (const item of answer.items) {
    if (item.type === 'assistant_message')
      agent.emit({ type: 'message', role: 'assistant', text: item.text });
    if (item.type === 'reasoning' && item.summary !== '')
      agent.emit({ type: 'reasoning', text: item.summary });
  }
  agent.emit({ type: 'usage', usage: answer.usage });
}

/** All that an answer says. */
export function textOf(items: Item[]): string {
  return items
    .flatMap((item) => (item.type === 'assistant_message' ? [item.text] : []))
    .join('\n\n')
    .trim();
}
