import { condition } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { shouldContinueAsNew } from './continue-as-new.ts';
import { MovesOn, type Parked } from './step-under-way.ts';

/**
 * Waits inside a tool call until something is so, or the time is up.
 *
 * @param what what the wait needs in a new run; a client's call is none that goes on in one
 * @returns false when the time was up first
 * @throws MovesOn when the agent goes on in a new run before that
 */
export async function waitInCall(
  agent: AgentState,
  callId: string,
  what: Omit<Parked, 'since'>,
  over: () => boolean,
  timeout?: { ms: number; summary: string },
): Promise<boolean> {
  const step = agent.step?.has(callId) === true ? agent.step : undefined;
  step?.park(callId, what);
  const isDue = (): boolean => over() || (step !== undefined && shouldContinueAsNew(agent));
  try {
    if (timeout === undefined) await condition(isDue);
    else if (!(await condition(isDue, timeout.ms, { summary: timeout.summary }))) return false;
  } finally {
    step?.unpark(callId);
  }
  if (!over()) throw new MovesOn();
  return true;
}
