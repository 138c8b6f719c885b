import { condition } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { shouldContinueAsNew } from './continue-as-new.ts';

/** Whether this is a one-shot root whose turn goes on until those below have settled. */
export function waitsForThoseBelow({ session, isRoot }: AgentState): boolean {
  return isRoot && session?.one_shot === true && session.wait_agents;
}

/** Waits until nothing runs below the root, unless input comes, or it should go on in a new run meanwhile. */
export async function untilSettledBelow(agent: AgentState): Promise<'settled' | 'input' | 'continue_as_new'> {
  const { tree, inbox, standing } = agent;
  const goesOn = (): boolean => tree?.busy === true && !inbox.hasInput && agent.closing === undefined;
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
