import { workflowInfo } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';

/** A conversation larger than this would not fit into the input of a new run. */
const CARRIED_BYTES = 1_500_000;

/**
 * Whether the agent may go on in a new run: the server suggests it, all that it has to carry fits, and nothing is under
 * way that cannot be carried: what is done beside the turn, and calls that do more than wait.
 */
export function shouldContinueAsNew(agent: AgentState): boolean {
  if (!workflowInfo().continueAsNewSuggested || agent.sideWork.busy) return false;
  if (agent.step?.onlyWaits === false) return false;
  return agent.conversation.bytes + (agent.step?.bytes ?? 0) <= CARRIED_BYTES;
}
