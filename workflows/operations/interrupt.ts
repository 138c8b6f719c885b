import type { AgentId } from '../../protocol/index.ts';
import { REASON_MAX } from '../../protocol/message-size.ts';
import { type Interrupt, SIGNALS } from '../../protocol/messages.ts';
import type { AgentState } from '../agent-state.ts';
import type { Order } from '../order.ts';
import { OUTSIDE } from '../standing.ts';
import { requireBelow } from './ownership.ts';
import { releaseSlot } from './slot.ts';
import { lose } from './take-answers.ts';

/**
 * Stops the running turn, or the one that is about to begin, and by default those of all agents below; an idle agent
 * only passes it on.
 */
export function interruptTurn(agent: AgentState, order: Extract<Order, { type: 'interrupt' }>): void {
  const { reason, forInput, along } = order;
  // Nobody below knows yet of a turn that a limit is stopping.
  if (agent.running?.stopReason !== undefined && agent.running.limit === undefined) return;
  if (agent.settings.limits.interrupt_descendants) interruptChildren(agent, reason);
  if (agent.standing.status !== 'running') {
    if (forInput === true) return;
    // Input that waits makes a turn, as soon as the agent gets to it.
    if (agent.inbox.hasInput) agent.beginRunning();
  }
  // What has come before it is part of what is to stop; only what comes later makes the agent go on.
  if (agent.running !== undefined && forInput !== true) agent.inbox.hold();
  agent.running?.stop(reason, undefined, along);
}

function interruptChildren(agent: AgentState, reason: string): void {
  for (const child of agent.children.open) {
    // Whatever it grows by on its way down, it has to be one that is taken.
    const passedOn = `${agent.id} was interrupted: ${reason}`.slice(0, REASON_MAX);
    const payload: Interrupt = { reason: passedOn, from: agent.id };
    // One that is gone has nothing to interrupt.
    agent.outbox.send(child.id, SIGNALS.interrupt, payload).catch(() => {});
  }
}

/** Stops the turn of an agent below; how it has ended comes with its next report. One that is closed has none. */
export async function interruptBelow(agent: AgentState, id: AgentId): Promise<void> {
  requireBelow(agent, id, 'interrupt');
  if (agent.children.get(id)?.closed === true) return;
  const payload: Interrupt = { reason: `interrupted by ${agent.id}`.slice(0, REASON_MAX) };
  if (await agent.outbox.send(id, SIGNALS.interrupt, payload)) return;
  const life = agent.children.life(id);
  lose(agent, id, 'errored', OUTSIDE);
  if (life !== undefined) releaseSlot(agent, id, life);
}
