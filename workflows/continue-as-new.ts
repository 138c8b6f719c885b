import { workflowInfo } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';

/** A conversation larger than this would not fit into the input of a new run. */
const CARRIED_BYTES = 1_500_000;

/**
 * Whether the agent may go on in a new run: the server suggests it, all that it has to carry fits, and nothing is under
 * way beside the turn, since that cannot be carried.
 */
export function shouldContinueAsNew(agent: AgentState): boolean {
  if (!workflowInfo().continueAsNewSuggested || agent.sideWork.busy) return false;
  return agent.conversation.bytes <= CARRIED_BYTES;
}
