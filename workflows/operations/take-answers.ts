import type { AgentId, Status, ToldEnd } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { type Known, reasonOf, wasEnded } from '../known.ts';
import type { Answer } from '../mailbox.ts';

/**
 * Whatever was sent to a sub-agent and is answered by now becomes mail: by the end of the turn that took it, or by the
 * end of the sub-agent, after which nothing is answered any more.
 *
 * @param ended the turn that has just ended, where one has
 */
export function takeAnswers(agent: AgentState, id: AgentId, ended?: ToldEnd): void {
  const known = agent.children.get(id);
  if (known === undefined) return;
  const { mailbox } = agent;
  const isTaken = (inputId: string): boolean => !known.pending.includes(inputId);
  const now = Date.now();
  if (ended !== undefined) mailbox.answer(id, isTaken, answerOf(ended), now);
  if (known.closed) mailbox.answer(id, () => true, noAnswer(known, ownEnd(known)), now);
  // One that was turned away never makes a turn.
  else if (agent.children.hasSettled(id))
    mailbox.answer(id, isTaken, noAnswer(known, 'it was not taken'), now);
}

/** Takes an agent for closed that can say nothing any more; what was sent to it has no other answer than that. */
export function lose(agent: AgentState, id: AgentId, status: Status, message: string): void {
  agent.children.lost(id, status, message);
  takeAnswers(agent, id);
}

function answerOf({ status, message, turn, usage }: ToldEnd): Answer {
  return {
    status,
    body: status === 'completed' ? message : reasonOf({ status, message }),
    turns_completed: turn,
    ...(usage === undefined ? {} : { token_usage: usage }),
  };
}

function noAnswer({ turn }: Known, body: string): Answer {
  return { status: 'errored', body, turns_completed: turn };
}

function ownEnd(known: Known): string {
  return wasEnded(known) ? known.message : 'it was closed before it had answered';
}
