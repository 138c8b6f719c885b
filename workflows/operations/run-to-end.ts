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
export type RunEnd = { success: true; output: string } | { success: false; error: string };

/**
 * Starts an agent, waits until its turn has ended, and closes it. New input does not end the wait: it is there for the
 * next model call. An interrupt does; the agent then stays as the interrupt has left it.
 */
export async function runToEnd(agent: AgentState, request: RunRequest): Promise<RunEnd> {
  const { callId, role, task } = request;
  const origin = agent.isRoot ? 'main' : agent.id;
  // One that goes on waiting in this run of the workflow has been started in an earlier one.
  const [parked] = agent.step?.parked(callId)?.wait?.ids ?? [];
  if (parked === undefined) {
    agent.emit({ type: 'subagent.start', name: role, description: task, origin });
  }
  let end: RunEnd | undefined;
  let movesOn = false;
  try {
    const id = parked ?? (await start(agent, request));
    end = await endOf(agent, callId, id);
    await close(agent, id, callId, { keepStatus: true });
    return end;
  } catch (error) {
    movesOn = error instanceof MovesOn;
    throw error;
  } finally {
    if (!movesOn) agent.emit({ type: 'subagent.end', name: role, success: end?.success === true, origin });
  }
}

async function start(agent: AgentState, { callId, role, task, model }: RunRequest): Promise<AgentId> {
  const content = [{ type: 'text' as const, text: task }];
  const { id } = await spawn(agent, { callId, role, content, model, taskInInstructions: true });
  return id;
}

async function endOf(agent: AgentState, callId: string, id: AgentId): Promise<RunEnd> {
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
