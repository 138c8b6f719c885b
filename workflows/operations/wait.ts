import { counted } from '../../protocol/counted.ts';
import type { AgentId, WireStatus } from '../../protocol/index.ts';
import { wireStatus } from '../../protocol/status.ts';
import type { AgentState } from '../agent-state.ts';
import { MovesOn, type Parked } from '../step-under-way.ts';
import { waitInCall } from '../wait-in-call.ts';
import { Refused } from './refused.ts';
import { resolveAgents, unwatch } from './resolve.ts';
import { lendingSlot } from './slot.ts';

export interface WaitRequest {
  callId: string;
  ids: string[];
  timeoutMs: number | undefined;
  mode: 'any' | 'all';
}

type Waited = NonNullable<Parked['wait']>;

export interface WaitResult {
  status: Record<string, WireStatus>;
  timed_out: boolean;
  interrupted_by_input?: boolean;
}

/**
 * Waits until the first of the agents is final, or all are, or the time is up. A durable timer: it ends on time
 * also when the worker was away meanwhile. New input ends it early.
 */
export async function wait(agent: AgentState, request: WaitRequest): Promise<WaitResult> {
  const parked = agent.step?.parked(request.callId)?.wait;
  const waited = parked ?? (await newWait(agent, request));
  let movesOn = false;
  try {
    return await waitFor(agent, request, waited, parked === undefined);
  } catch (error) {
    movesOn = error instanceof MovesOn;
    throw error;
  } finally {
    if (!movesOn && waited.watch !== undefined) unwatch(agent, waited.watch);
  }
}

async function waitFor(
  agent: AgentState,
  request: WaitRequest,
  waited: Waited,
  isNew: boolean,
): Promise<WaitResult> {
  const event = { call_id: request.callId, sender_id: agent.id };
  const { ids, unknown } = waited;
  if (isNew) agent.emit({ type: 'agent.wait.begin', ...event, receiver_ids: ids });
  const inTime = await untilSettled(agent, waited, request, isNew).catch((error: unknown) => {
    if (!(error instanceof MovesOn)) {
      agent.emit({ type: 'agent.wait.end', ...event, statuses: {}, timed_out: false });
    }
    throw error;
  });
  const status: Record<string, WireStatus> = {};
  // What a client is told, the model has not learnt.
  const isModels = !agent.operations.has(request.callId);
  for (const reference of unknown) status[reference] = 'not_found';
  for (const id of ids.filter((id) => agent.children.hasSettled(id))) {
    const known = agent.children.get(id);
    if (known === undefined) continue;
    status[id] = wireStatus(known.status, known.message);
    if (isModels) agent.inbox.withdraw(id, known.turn, known.status);
  }
  const done = isSatisfied(agent, ids, unknown.length > 0, request.mode);
  // While it waited for its slot afterwards, the agents may have come to their end after all.
  const timedOut = !inTime && !done;
  const interruptedByInput = !done && !timedOut && agent.inbox.hasSteering;
  const outcome = { timed_out: timedOut, ...(interruptedByInput ? { interrupted_by_input: true } : {}) };
  agent.emit({ type: 'agent.wait.end', ...event, statuses: status, ...outcome });
  return { status, ...outcome };
}

/** Until when a wait lasts, whatever it was asked for: within the limits of the session. */
export function endOfWait({ settings }: AgentState, timeoutMs: number | undefined): number {
  const { wait_min_ms: least, wait_max_ms: most, wait_default_ms: usual } = settings.limits;
  return Date.now() + Math.min(Math.max(timeoutMs ?? usual, least), most);
}

/** Whom to wait for, and until when. */
async function newWait(agent: AgentState, { ids: references, timeoutMs }: WaitRequest): Promise<Waited> {
  const watch = agent.nextId('requests');
  const { ids, unknown } = await whom(agent, references, watch).catch((error: unknown) => {
    // Also where it is the answer that it did not wait for.
    unwatch(agent, watch);
    throw error;
  });
  const isWatched = ids.some((id) => agent.children.get(id)?.isChild !== true);
  return { ids, unknown, until: endOfWait(agent, timeoutMs), ...(isWatched ? { watch } : {}) };
}

async function whom(
  agent: AgentState,
  references: string[],
  watch: string,
): Promise<Pick<Waited, 'ids' | 'unknown'>> {
  const resolved = await resolveAgents(agent, references, { watch });
  const ids = [...new Set([...resolved.values()].filter((id) => id !== undefined))];
  const unknown = [...resolved].filter(([, id]) => id === undefined).map(([reference]) => reference);
  if (ids.includes(agent.id)) {
    throw new Refused({
      code: 'not_permitted',
      message: 'an agent cannot wait for itself',
      hint: 'Wait for agents that you have spawned (list_agents).',
    });
  }
  return { ids, unknown };
}

function isSatisfied(agent: AgentState, ids: AgentId[], someUnknown: boolean, mode: 'any' | 'all'): boolean {
  const settled = ids.filter((id) => agent.children.hasSettled(id));
  // To be unknown is final: of one that does not exist nothing will ever be heard.
  if (mode === 'all') return settled.length === ids.length;
  return settled.length > 0 || someUnknown;
}

/** False when the time was up first. */
async function untilSettled(
  agent: AgentState,
  waited: Waited,
  request: WaitRequest,
  isNew: boolean,
): Promise<boolean> {
  const { ids, unknown, until } = waited;
  const { callId, mode } = request;
  const over = (): boolean =>
    isSatisfied(agent, ids, unknown.length > 0, mode) ||
    agent.inbox.hasSteering ||
    agent.closing !== undefined;
  // One that goes on has lent the slot, and has to take it back.
  if (isNew && over()) return true;
  // A turn shows what it waits for; a client that waits is not the agent.
  const isModels = !agent.operations.has(callId);
  if (isModels) {
    agent.standing.waitingFor = 'agents';
    if (isNew) agent.report();
    else agent.onChange();
  }
  const timeout = {
    ms: Math.max(1, until - Date.now()),
    summary: `wait for ${counted(ids.length, 'agent')}`,
  };
  try {
    return await lendingSlot(agent, callId, () => waitInCall(agent, callId, { wait: waited }, over, timeout));
  } finally {
    if (isModels) agent.standing.waitingFor = undefined;
    agent.onChange();
  }
}
