import { CancellationScope } from '@temporalio/workflow';
import type { AgentId, AgentView, ErrorBody, SlotAnswer, SlotRequest } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { answerSlotRequest } from '../ledger.ts';
import { MovesOn } from '../step-under-way.ts';

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

/**
 * Takes a slot for this agent's own turn, or takes back the one it has lent, however long that takes. Calls that ask
 * for it side by side ask together.
 *
 * @returns why there is none to be had; never for one that takes back what it has lent
 */
export async function takeSlot(agent: AgentState): Promise<ErrorBody | undefined> {
  if (agent.isRoot) return undefined;
  agent.reclaiming ??= reclaim(agent);
  return agent.reclaiming;
}

async function reclaim(agent: AgentState): Promise<ErrorBody | undefined> {
  let refusal: ErrorBody | undefined;
  try {
    refusal = await untilReclaimed(agent);
  } finally {
    agent.reclaiming = undefined;
  }
  // A call that has begun to wait meanwhile had nothing to lend.
  if (agent.lenders > 0 || agent.step?.slotLent === true) tell(agent, { kind: 'lend', agent_id: agent.id });
  return refusal;
}

async function untilReclaimed(agent: AgentState): Promise<ErrorBody | undefined> {
  const requestId = agent.nextId('requests');
  const answer = await ask(agent, {
    kind: 'reclaim',
    request_id: requestId,
    agent_id: agent.id,
    from: agent.id,
  });
  const last = answer?.outcome === 'queued' ? await untilGranted(agent, requestId) : answer;
  return last?.outcome === 'refused' ? last.error : undefined;
}

async function untilGranted(agent: AgentState, requestId: string): Promise<Outcome> {
  agent.standing.queued = true;
  agent.standing.waitingFor = 'slot';
  agent.report();
  try {
    return await agent.slotAnswers.await(requestId, () => agent.closing !== undefined);
  } finally {
    agent.standing.queued = false;
    agent.standing.waitingFor = undefined;
  }
}

/**
 * Gives the slot to others while this agent waits, and takes it again afterwards. Calls that wait side by side lend it
 * once, and the last of them takes it back. A call that a client has made by hand has no slot to lend: the turn beside
 * it, if there is one, works on.
 */
export async function lendingSlot<T>(agent: AgentState, callId: string, wait: () => Promise<T>): Promise<T> {
  if (agent.operations.has(callId)) return wait();
  // Others may use its tokens meanwhile, too.
  agent.tokensLeased = 0;
  if (agent.tree !== undefined) {
    agent.tree.budget.pause(agent.id, agent.standing.usage.total_tokens);
    return wait();
  }
  // Calls that go on waiting in a new run have lent it already.
  if (agent.lenders++ === 0 && agent.step?.slotLent !== true && agent.reclaiming === undefined) {
    tell(agent, { kind: 'lend', agent_id: agent.id });
  }
  let movesOn = false;
  try {
    return await wait();
  } catch (error) {
    movesOn = error instanceof MovesOn;
    throw error;
  } finally {
    const isLast = --agent.lenders === 0;
    if (agent.step !== undefined) agent.step.slotLent = movesOn;
    if (isLast && !movesOn && !CancellationScope.current().consideredCancelled) await takeSlot(agent);
  }
}

/** Tells the ledger that the agent which a slot was reserved for has not come into being. */
export function cancelSpawn(agent: AgentState, unborn: AgentId): void {
  tell(agent, { kind: 'cancel_spawn', agent_id: unborn });
}

/**
 * Tells the ledger that an agent works no more, for one that cannot say so itself.
 *
 * @param ended its life that is over; one that it has begun since goes on. Without it, only its turn is over.
 */
export function releaseSlot(agent: AgentState, holder: AgentId, ended?: number): void {
  const life = ended === undefined ? { closed: false } : { closed: true, life: ended };
  tell(agent, { kind: 'release', agent_id: holder, ...life });
}

/** Has the root look whether an agent has ended, of whose lives this one knows nothing. */
export function suspectEnded(agent: AgentState, id: AgentId): void {
  tell(agent, { kind: 'release', agent_id: id, closed: true });
}

/** The same for all agents below one whose life is over; every one of them has ended. */
export function releaseBelow(agent: AgentState, id: AgentId, ended: number): void {
  tell(agent, { kind: 'release_below', agent_id: id, life: ended });
}

async function ask(
  agent: AgentState,
  request: Extract<SlotRequest, { request_id: string }>,
): Promise<Outcome> {
  tell(agent, request);
  return agent.slotAnswers.await(request.request_id, () => agent.closing !== undefined);
}

function tell(agent: AgentState, request: SlotRequest): void {
  if (agent.isRoot) answerSlotRequest(agent, request);
  else agent.postToRoot({ type: 'slot', request });
}
