import { TerminatedFailure } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import { isBelow } from '../../protocol/ids.ts';
import type { AgentId } from '../../protocol/index.ts';
import { bodyOf, terminateAgents } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { announce, emitStatus } from '../announce.ts';
import { OUTSIDE } from '../standing.ts';
import { releaseBelow, releaseSlot } from './slot.ts';
import { lose } from './take-answers.ts';

/**
 * An agent whose workflow fails, or that somebody terminates, reports nothing any more; the server tells the run that
 * has started it. A run that continues another one does not hear of it, and looks for itself (`lookForDeaths`).
 *
 * @param life the one that has just begun
 */
export function noticeDeath(
  agent: AgentState,
  id: AgentId,
  child: ChildWorkflowHandle<Workflow>,
  life: number,
): void {
  void CancellationScope.nonCancellable(() => child.result()).catch((error: unknown) => {
    agent.orders.push({ type: 'death', id, life, reason: reasonOf(error) });
  });
}

function reasonOf(error: unknown): string {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined;
  return cause === undefined || cause instanceof TerminatedFailure ? OUTSIDE : `${OUTSIDE}: ${cause.message}`;
}

/** Takes an agent for lost that can say nothing any more, and ends what was below it, for nobody else will. */
export function takeForLost(agent: AgentState, id: AgentId, life: number, reason = OUTSIDE): void {
  if (agent.closing !== undefined) return;
  const known = agent.children.get(id);
  // One that was resumed for another agent, its parent, hears of it from the root.
  if (known?.isChild === true) {
    if (known.closed || (agent.children.life(id) ?? 0) > life) return;
    lose(agent, id, 'errored', reason);
    announce(agent, known, { turn: known.turn, status: 'errored', message: reason, duration_ms: 0 });
    emitStatus(agent, id, 'errored', reason);
  }
  releaseSlot(agent, id, life);
  agent.onChange();
  const burial = endBelow(agent, id, life).catch((error: unknown) => {
    agent.warn(`what runs below ${id} could not be ended: ${bodyOf(error).message}`);
  });
  agent.burials.set(id, burial);
  void agent.sideWork.track(burial.then(() => void agent.burials.delete(id)));
}

/**
 * Ends what still runs below an agent that has ended without closing it.
 *
 * @param life the one that has ended
 * @param known agents that may be there, in case the server does not list them yet
 */
export async function endBelow(
  agent: AgentState,
  id: AgentId,
  life: number,
  known: AgentId[] = [],
): Promise<void> {
  const inTree = agent.tree?.openIds.filter((other) => isBelow(other, id)) ?? [];
  await terminateAgents({
    agent_id: id,
    reason: `${id} was ${OUTSIDE}`,
    only_below: true,
    known: [...new Set([...known, ...inTree])],
  });
  releaseBelow(agent, id, life);
}

/** Until what is left of an earlier life there is gone, nothing may begin another one. */
export async function untilBuried(agent: AgentState, id: AgentId): Promise<void> {
  for (const [lost, burial] of agent.burials) {
    if (lost === id || isBelow(lost, id) || isBelow(id, lost)) await burial;
  }
}
