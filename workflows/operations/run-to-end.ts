import type { AgentId } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { reasonOf } from '../known.ts';
import { MovesOn } from '../step-under-way.ts';
import { waitInCall } from '../wait-in-call.ts';
import { close } from './close.ts';
import { lendingSlot } from './slot.ts';
import { spawn } from './spawn.ts';

export interface RunRequest {
  callId: string;
  role: string;
  task: string;
  model: string | undefined;
}

/** How an agent has ended: with an answer, or with the reason why there is none. */
type Ended = { success: true; output: string } | { success: false; error: string };

/** With the role that it had, by the role's own name. */
export type RunEnd = Ended & { role: string };

/**
 * Starts an agent, waits until its turn has ended, and closes it. New input does not end the wait: it is there for the
 * next model call. An interrupt does; the agent then stays as the interrupt has left it.
 */
export async function runToEnd(agent: AgentState, request: RunRequest): Promise<RunEnd> {
  const { callId, task } = request;
  const origin = agent.isRoot ? 'main' : agent.id;
  // One that goes on waiting in this run of the workflow has been started in an earlier one.
  const [parked] = agent.step?.parked(callId)?.wait?.ids ?? [];
  let role = parked === undefined ? undefined : agent.children.get(parked)?.role;
  const begin = (name: string): void => {
    role = name;
    agent.emit({ type: 'subagent.start', name, description: task, origin });
  };
  let end: Ended | undefined;
  let movesOn = false;
  try {
    const id = parked ?? (await start(agent, request, begin));
    end = await endOf(agent, callId, id);
    await close(agent, id, callId, { keepStatus: true });
    return { ...end, role: role ?? request.role };
  } catch (error) {
    movesOn = error instanceof MovesOn;
    throw error;
  } finally {
    if (!movesOn) {
      // Refused before its role was read, it has no name but the one that was asked for.
      if (role === undefined && parked === undefined) begin(request.role);
      const name = role ?? request.role;
      agent.emit({ type: 'subagent.end', name, success: end?.success === true, origin });
    }
  }
}

async function start(
  agent: AgentState,
  request: RunRequest,
  begin: (role: string) => void,
): Promise<AgentId> {
  const { callId, role, task, model } = request;
  const content = [{ type: 'text' as const, text: task }];
  const { id } = await spawn(agent, {
    callId,
    role,
    content,
    model,
    taskInInstructions: true,
    onRole: begin,
  });
  return id;
}

async function endOf(agent: AgentState, callId: string, id: AgentId): Promise<Ended> {
  await untilSettled(agent, callId, id);
  const known = agent.children.get(id);
  if (known === undefined) return { success: false, error: `agent ${id} is gone` };
  // What a client is told, the model has not learnt.
  if (!agent.operations.has(callId)) agent.inbox.withdraw(id, known.turn, known.status);
  if (known.status === 'completed') return { success: true, output: known.message };
  return { success: false, error: reasonOf(known) };
}

async function untilSettled(agent: AgentState, callId: string, id: AgentId): Promise<void> {
  const isModels = !agent.operations.has(callId);
  if (isModels) {
    agent.standing.waitingFor = 'agents';
    agent.report();
  }
  const wait = { ids: [id], unknown: [], until: Number.MAX_SAFE_INTEGER };
  try {
    await lendingSlot(agent, callId, () =>
      waitInCall(agent, callId, { wait }, () => agent.children.hasSettled(id)),
    );
  } finally {
    // Others of the same answer may wait on.
    if (isModels && agent.step?.waits !== true) agent.standing.waitingFor = undefined;
    agent.onChange();
  }
}
