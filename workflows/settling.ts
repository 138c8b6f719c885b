import { condition } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { shouldContinueAsNew } from './continue-as-new.ts';

/** Whether this is a one-shot root whose turn goes on until those below have settled. */
export function waitsForThoseBelow({ session, isRoot }: AgentState): boolean {
  return isRoot && session?.one_shot === true && session.wait_agents;
}

/** Whether anybody works below the root, or is about to: with input of its own that nobody has confirmed yet. */
export function worksBelow({ tree, children }: AgentState): boolean {
  return tree?.busy === true || children.hasUnconfirmed;
}

/** Waits until nothing runs below the root, unless input comes, or it should go on in a new run meanwhile. */
export async function untilSettledBelow(agent: AgentState): Promise<'settled' | 'input' | 'continue_as_new'> {
  const { inbox, standing } = agent;
  const goesOn = (): boolean => worksBelow(agent) && !inbox.hasInput && agent.closing === undefined;
  if (goesOn()) {
    standing.waitingFor = 'agents';
    agent.onChange();
    try {
      await condition(() => !goesOn() || shouldContinueAsNew(agent));
    } finally {
      standing.waitingFor = undefined;
    }
  }
  if (inbox.hasInput) return 'input';
  return goesOn() ? 'continue_as_new' : 'settled';
}
