import { CancellationScope } from '@temporalio/workflow';
import type { AgentId, AgentView, SlotAnswer, SlotRequest } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { answerSlotRequest } from '../ledger.ts';

/** The slot under which an agent does its turns, kept by the root; the root itself needs none. */

type Outcome = SlotAnswer | undefined;

/** Asks for a slot for an agent that is about to be started. Undefined when this agent is closing. */
export function reserveForSpawn(agent: AgentState, view: AgentView, queue: boolean): Promise<Outcome> {
  return ask(agent, {
    kind: 'reserve',
    request_id: agent.nextId('requests'),
    agent_id: view.agent_id,
    from: agent.id,
    queue,
    spawn: view,
  });
}

/** Asks for a slot for another agent that is about to get input. */
export function reserveFor(agent: AgentState, receiver: AgentId): Promise<Outcome> {
  return ask(agent, {
    kind: 'reserve',
    request_id: agent.nextId('requests'),
    agent_id: receiver,
    from: agent.id,
    queue: agent.settings.limits.when_full === 'queue',
  });
}

/** Takes a slot for this agent's own turn, however long that takes. */
export async function takeSlot(agent: AgentState): Promise<void> {
  if (agent.isRoot) return;
  const requestId = agent.nextId('requests');
  const answer = await ask(agent, {
    kind: 'reserve',
    request_id: requestId,
    agent_id: agent.id,
    from: agent.id,
    queue: true,
  });
  if (answer?.outcome === 'queued') await untilGranted(agent, requestId);
}

/** Waits for a slot that is queued under this request. */
export async function untilGranted(agent: AgentState, requestId: string): Promise<void> {
  agent.standing.queued = true;
  agent.standing.waitingFor = 'slot';
  agent.report();
  try {
    await agent.slotAnswers.await(requestId, () => agent.closing !== undefined);
  } finally {
    agent.standing.queued = false;
    agent.standing.waitingFor = undefined;
  }
}

/** Gives the slot to others while this agent waits, and takes it again afterwards, also when it was interrupted. */
export async function lendingSlot<T>(agent: AgentState, wait: () => Promise<T>): Promise<T> {
  if (agent.isRoot) return wait();
  const lend: SlotRequest = { kind: 'lend', agent_id: agent.id };
  agent.outbox.post(agent.identity.session_id, { type: 'slot', request: lend });
  const result = await wait();
  if (CancellationScope.current().consideredCancelled) return result;
  const requestId = agent.nextId('requests');
  const answer = await ask(agent, {
    kind: 'reclaim',
    request_id: requestId,
    agent_id: agent.id,
    from: agent.id,
  });
  if (answer?.outcome === 'queued') await untilGranted(agent, requestId);
  return result;
}

/** Tells the ledger that an agent works no more, for one that cannot say so itself. */
export function releaseSlot(agent: AgentState, holder: AgentId, closed: boolean): void {
  const request: SlotRequest = { kind: 'release', agent_id: holder, closed };
  if (agent.isRoot) answerSlotRequest(agent, request);
  else agent.outbox.post(agent.identity.session_id, { type: 'slot', request });
}

async function ask(
  agent: AgentState,
  request: Extract<SlotRequest, { request_id: string }>,
): Promise<Outcome> {
  if (agent.isRoot) answerSlotRequest(agent, request);
  else agent.outbox.post(agent.identity.session_id, { type: 'slot', request });
  return agent.slotAnswers.await(request.request_id, () => agent.closing !== undefined);
}
