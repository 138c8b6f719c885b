import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { AgentInput, AgentResult } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import type { AgentCarry } from './carry.ts';
import { bytesOfOrders } from './order.ts';

type AgentWorkflow = (input: AgentInput<AgentCarry>) => Promise<AgentResult>;

/** More than this would not fit into the input of a new run. */
const CARRIED_BYTES = 1_500_000;
/** A conversation that is larger takes too much of the memory of a worker, whatever its model takes. */
const HELD_BYTES = 5_000_000;

/**
 * Whether the agent may go on in a new run: the server suggests it, all that it has to carry fits, and nothing is under
 * way that cannot be carried: what is done beside the turn, and calls that do more than wait.
 */
export function shouldContinueAsNew(agent: AgentState): boolean {
  if (!workflowInfo().continueAsNewSuggested || agent.sideWork.busy) return false;
  if (agent.step?.onlyWaits === false) return false;
  return carriedBytes(agent) <= CARRIED_BYTES;
}

/** Whether it should, and its conversation is what does not fit. */
export function hasToShrink(agent: AgentState): boolean {
  if (agent.conversation.bytes > HELD_BYTES) return true;
  return workflowInfo().continueAsNewSuggested && carriedBytes(agent) > CARRIED_BYTES;
}

/** At about a third of what a server lets the history of one run have before it terminates it: 50 MiB, 51,200 events. */
const URGENT = { bytes: 16_000_000, events: 17_000 };

/** Whether it has to shrink soon, or the server will end it: by its history, and by what is about to enter that. */
export function hasToShrinkNow(agent: AgentState): boolean {
  const { historySize, historyLength } = workflowInfo();
  if (!hasToShrink(agent)) return false;
  return Math.max(historySize, agent.conversation.bytes) > URGENT.bytes || historyLength > URGENT.events;
}

/** About as many as all that it takes along; what others have said is cut for that. */
export function carriedBytes(agent: AgentState): number {
  const { conversation, step, inbox, children, mailbox, tree, operations } = agent;
  const parts = [conversation, step, inbox, children, mailbox, tree, operations];
  return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), bytesOfOrders(agent.orders));
}

/** Whether it is still so, and nothing has come that is for this run. */
export function mayMoveOn(self: AgentState): boolean {
  return self.closing === undefined && self.running?.stopReason === undefined && shouldContinueAsNew(self);
}

/**
 * Goes on in a new run, with nothing under way: all that was sent has arrived, all that came is carried. Orders are
 * no longer followed here: an interrupt would find no turn to stop, and a closing would be forgotten.
 *
 * @returns when more has come meanwhile than a new run could be given: the agent goes on in this one, and acts on it
 */
export async function continueInNewRun(self: AgentState, input: AgentInput<AgentCarry>): Promise<void> {
  self.movesOn = true;
  await condition(() => self.outbox.isEmpty && allHandlersFinished());
  if (carriedBytes(self) > CARRIED_BYTES) {
    self.movesOn = false;
    return;
  }
  const { identity, session } = input;
  await continueAsNew<AgentWorkflow>({
    identity,
    settings: self.settings,
    ...(session === undefined ? {} : { session }),
    ...(input.input === undefined ? {} : { input: input.input }),
    carry: self.carry,
  });
}
