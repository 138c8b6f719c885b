import { workflowInfo } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';

/** More than this would not fit into the input of a new run. */
const CARRIED_BYTES = 1_500_000;

/**
 * Whether the agent may go on in a new run: the server suggests it, all that it has to carry fits, and nothing is under
 * way that cannot be carried: what is done beside the turn, and calls that do more than wait.
 */
export function shouldContinueAsNew(agent: AgentState): boolean {
  if (!workflowInfo().continueAsNewSuggested || agent.sideWork.busy) return false;
  if (agent.step?.onlyWaits === false) return false;
  return carriedBytes(agent) <= CARRIED_BYTES;
}

/** About as many as all that it takes along; what others have said is cut for that. */
export function carriedBytes({ conversation, step, inbox, children, tree, operations }: AgentState): number {
  const parts = [conversation, step, inbox, children, tree, operations];
  return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), 0);
}
