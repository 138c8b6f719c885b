import { condition } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { beginClosing } from './orders.ts';

/**
 * Waits for the next thing to do. The time that the agent may be idle runs while nothing is pending: no agents of its
 * that work, and nothing that a client has asked of it.
 *
 * @returns false when the agent was given up, since nothing had come for so long
 */
export async function untilDue(self: AgentState, isDue: () => boolean): Promise<boolean> {
  const { max_runtime_ms: idle } = self.settings.limits;
  const isPending = (): boolean => self.sideWork.busy || self.children.working.length > 0;
  while (!isDue()) {
    if (idle === undefined) await condition(isDue);
    else if (isPending()) await condition(() => isDue() || !isPending());
    else if (!(await condition(() => isDue() || isPending(), idle, { summary: 'agents.max_runtime_ms' }))) {
      if (isDue() || isPending()) continue;
      endIdleness(self, idle);
      return false;
    }
  }
  return true;
}

function endIdleness(self: AgentState, idle: number): void {
  const { standing } = self;
  const limit = `The limit of ${idle} ms without any activity was reached (agents.max_runtime_ms).`;
  const last = standing.status === 'completed' && standing.message ? ` Last answer: ${standing.message}` : '';
  standing.endTurn('errored', limit + last, 'limit_runtime', Date.now());
  self.emitOwnStatus();
  self.report();
  beginClosing(self, limit, true);
}
