import { condition } from '@temporalio/workflow';
import type { AgentId } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import { viewsOf } from './operations/list.ts';
import { resolveAgents, unwatch } from './operations/resolve.ts';
import { beginClosing } from './orders.ts';

/**
 * Waits for the next thing to do. The time that the agent may be idle runs while nothing is pending: no agents below it
 * that work, at any depth, since they would be closed with it, and nothing that a client has asked of it.
 *
 * @returns false when the agent was given up, since nothing had come for so long
 */
export async function untilDue(self: AgentState, isDue: () => boolean): Promise<boolean> {
  const { max_runtime_ms: idle } = self.settings.limits;
  const isPending = (): boolean =>
    self.sideWork.busy || self.children.working.length > 0 || self.tree?.busy === true;
  const isOver = (): boolean => isDue() || isPending();
  let left = idle;
  while (!isDue()) {
    if (idle === undefined || left === undefined) await condition(isDue);
    else if (isPending()) {
      await condition(() => isDue() || !isPending());
      left = idle;
    } else if ((await condition(isOver, left, { summary: 'agents.max_runtime_ms' })) || isOver()) left = idle;
    else {
      left = await idleTimeLeft(self, idle, isDue);
      if (left > 0 || isOver()) continue;
      endIdleness(self, idle);
      return false;
    }
  }
  return true;
}

/** Agents deeper than its children do not report to it: the root is asked, and those that work are waited for. */
async function idleTimeLeft(self: AgentState, idle: number, isDue: () => boolean): Promise<number> {
  if (self.children.ids.length === 0) return 0;
  const below = await viewsOf(self, { scope: 'descendants', include_closed: true });
  if (below === undefined) return idle;
  const working = below.agents.filter((view) => !view.closed && !view.is_final && view.idle !== true);
  if (working.length > 0) {
    const ids = working.map(({ agent_id }) => agent_id);
    await untilSettled(self, ids, isDue);
    return idle;
  }
  const last = Math.max(0, ...below.agents.map((view) => Date.parse(view.updated_at)));
  return last + idle - Date.now();
}

async function untilSettled(self: AgentState, ids: AgentId[], isDue: () => boolean): Promise<void> {
  const watch = self.nextId('requests');
  try {
    await resolveAgents(self, ids, { watch });
    await condition(() => isDue() || ids.every((id) => self.children.hasSettled(id)));
  } finally {
    unwatch(self, watch);
  }
}

/** What its last turn came to stands; one that has come to nothing yet has failed by this. */
function endIdleness(self: AgentState, idle: number): void {
  const { standing } = self;
  const limit = `The limit of ${idle} ms without any activity was reached (agents.max_runtime_ms).`;
  self.warn(`${limit} The agent is closed.`);
  if (!standing.isFinal) {
    standing.endTurn('errored', limit, 'limit_runtime', Date.now());
    self.emitOwnStatus();
    self.report();
  }
  beginClosing(self, limit, true);
}
