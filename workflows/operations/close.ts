import { CancellationScope, condition } from '@temporalio/workflow';
import type { AgentId, Status, WireStatus } from '../../protocol/index.ts';
import { isFinal, wireStatus } from '../../protocol/status.ts';
import { terminateAgents } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import type { Known } from '../children.ts';
import { OUTSIDE } from '../standing.ts';
import { requireBelow } from './ownership.ts';
import { resolveAgent } from './resolve.ts';
import { releaseBelow, releaseSlot } from './slot.ts';

/** Who does not acknowledge within this time is terminated; a killed worker needs 10 to 15 s to come back. */
const ACKNOWLEDGE_MS = 20_000;

export interface CloseResult {
  /** Before closing. */
  status: WireStatus;
  closed: AgentId[];
}

/** Closes an agent and all below it, leaf first. Closing a closed agent succeeds and closes nothing. */
export async function close(agent: AgentState, reference: string, callId: string): Promise<CloseResult> {
  const id = await resolveAgent(agent, reference);
  if (id === agent.id) return closeItself(agent);
  requireBelow(agent, id, 'close');
  const known = agent.children.get(id);
  const status = wireStatus(known?.status ?? 'not_found', known?.message);
  const event = { call_id: callId, sender_id: agent.id, receiver_id: id };
  agent.emit({ type: 'agent.close.begin', ...event });
  const closed =
    known?.closed === true ? [] : await closeAgent(agent, id, { reason: `closed by ${agent.id}` });
  if (known !== undefined && !agent.operations.has(callId)) withdrawTold(agent, known);
  agent.emit({ type: 'agent.close.end', ...event, status });
  agent.onChange();
  return { status, closed };
}

/** What the answer tells, or that the closing has cut a turn off, is no news for the model that has asked for it. */
function withdrawTold(agent: AgentState, before: Known): void {
  const { id, turn, status } = before;
  if (isFinal(status)) agent.inbox.withdraw(id, turn, status);
  else agent.inbox.withdraw(id, agent.children.get(id)?.turn ?? turn, 'interrupted');
}

/** It closes as for anybody else: its turn is stopped first, so its model does not see this answer any more. */
function closeItself(agent: AgentState): CloseResult {
  agent.orders.push({ type: 'shutdown', reason: 'closed by itself' });
  return { status: wireStatus(agent.standing.status, agent.standing.message), closed: [agent.id] };
}

/**
 * Asks an agent to close itself and all below it, and waits until it has. One that does not acknowledge, or does
 * not come to an end, is terminated with all below it.
 *
 * @returns what was closed, leaf first
 */
export function closeAgent(
  agent: AgentState,
  id: AgentId,
  how: { reason: string; keepStatus?: boolean },
): Promise<AgentId[]> {
  // An interrupt of the turn that asked for it does not leave a tree half closed.
  return CancellationScope.nonCancellable(async () => {
    const requestId = agent.nextId('requests');
    let gone = false;
    const request = {
      request_id: requestId,
      from: agent.id,
      reason: how.reason,
      keep_status: how.keepStatus ?? false,
    };
    agent.outbox.post(id, { type: 'close', request }, () => {
      gone = true;
    });
    const acknowledged = (): boolean => gone || agent.acknowledgements.has(requestId);
    const done = (): boolean => gone || agent.acknowledgements.get(requestId)?.done === true;
    const inTime =
      (await condition(done, ACKNOWLEDGE_MS, { summary: `${id} closes` })) ||
      (acknowledged() &&
        (await condition(done, longest(agent), { summary: `${id} closes what is below it` })));
    const closed = agent.acknowledgements.get(requestId)?.closed ?? [];
    agent.acknowledgements.delete(requestId);
    if (inTime && !gone) return closed;
    // Of one that was ended from outside nobody has closed what is below it.
    const { terminated } = await terminateAgents({ agent_id: id, reason: how.reason });
    const life = agent.children.life(id);
    markLost(agent, id, gone ? 'errored' : 'shutdown', gone ? OUTSIDE : 'terminated: it did not answer');
    if (life !== undefined) {
      releaseSlot(agent, id, life);
      releaseBelow(agent, id, life);
    }
    return terminated;
  });
}

function markLost(agent: AgentState, id: AgentId, status: Status, message: string): void {
  agent.children.lost(id, status, message);
  if (agent.closing === undefined) agent.warn(`agent ${id} was ${message}`);
}

/** Every level below may need its own time for stragglers. */
function longest(agent: AgentState): number {
  const levels = Math.max(1, agent.settings.limits.max_depth - agent.identity.depth);
  return ACKNOWLEDGE_MS * (levels + 1);
}
