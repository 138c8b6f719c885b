import { condition } from '@temporalio/workflow';
import type { AgentId, WireStatus } from '../../protocol/index.ts';
import { wireStatus } from '../../protocol/status.ts';
import type { AgentState } from '../agent-state.ts';
import { Refused } from './refused.ts';
import { resolveAgents } from './resolve.ts';
import { lendingSlot } from './slot.ts';

export interface WaitRequest {
  callId: string;
  ids: string[];
  timeoutMs: number | undefined;
  mode: 'any' | 'all';
}

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
  const resolved = await resolveAgents(agent, request.ids, { watch: true });
  const ids = [...new Set([...resolved.values()].filter((id) => id !== undefined))];
  const unknown = [...resolved].filter(([, id]) => id === undefined).map(([reference]) => reference);
  if (ids.includes(agent.id)) {
    throw new Refused({ code: 'not_permitted', message: 'an agent cannot wait for itself' });
  }
  const event = { call_id: request.callId, sender_id: agent.id };
  agent.emit({ type: 'agent.wait.begin', ...event, receiver_ids: ids });
  const inTime = await untilSettled(agent, ids, unknown.length > 0, request).catch((error: unknown) => {
    agent.emit({ type: 'agent.wait.end', ...event, statuses: {}, timed_out: false });
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
  const interruptedByInput = !done && !timedOut && agent.inbox.hasInput;
  agent.emit({ type: 'agent.wait.end', ...event, statuses: status, timed_out: timedOut });
  return {
    status,
    timed_out: timedOut,
    ...(interruptedByInput ? { interrupted_by_input: true } : {}),
  };
}

function isSatisfied(agent: AgentState, ids: AgentId[], someUnknown: boolean, mode: 'any' | 'all'): boolean {
  const settled = ids.filter((id) => agent.children.hasSettled(id));
  if (mode === 'all') return settled.length === ids.length;
  return settled.length > 0 || someUnknown;
}

/** False when the time was up first. */
async function untilSettled(
  agent: AgentState,
  ids: AgentId[],
  someUnknown: boolean,
  request: WaitRequest,
): Promise<boolean> {
  const over = (): boolean =>
    isSatisfied(agent, ids, someUnknown, request.mode) || agent.inbox.hasInput || agent.closing !== undefined;
  if (over()) return true;
  const { wait_min_ms: least, wait_max_ms: most, wait_default_ms: usual } = agent.settings.limits;
  const timeout = Math.min(Math.max(request.timeoutMs ?? usual, least), most);
  // A turn shows what it waits for; a client that waits is not the agent.
  const isModels = !agent.operations.has(request.callId);
  if (isModels) {
    agent.standing.waitingFor = 'agents';
    agent.report();
  }
  try {
    return await lendingSlot(agent, request.callId, () =>
      condition(over, timeout, { summary: `wait for ${ids.length} agents` }),
    );
  } finally {
    if (isModels) agent.standing.waitingFor = undefined;
    agent.onChange();
  }
}
