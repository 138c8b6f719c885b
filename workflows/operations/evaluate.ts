import type { AgentId, ContentPart } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { interruptBelow } from './interrupt.ts';
import { Refused } from './refused.ts';
import { resolveAgent } from './resolve.ts';
import { send } from './send.ts';
import { wait } from './wait.ts';

export interface EvaluateRequest {
  callId: string;
  /** Id or name. */
  whom: string;
  /** What it is sent first, if anything. */
  content: ContentPart[] | undefined;
  /** Whether its turn is stopped before that. */
  interrupt: boolean;
  /** Whether to wait until it has come to its end. */
  block: boolean;
  timeoutMs: number | undefined;
}

export interface Evaluated {
  id: AgentId;
  timedOut: boolean;
  interruptedByInput: boolean;
}

/** Sends to an agent what there is to send, waits until it has come to its end, and looks at it. */
export async function evaluate(agent: AgentState, request: EvaluateRequest): Promise<Evaluated> {
  const { callId, block, timeoutMs } = request;
  // One that goes on waiting in this run of the workflow has been sent all in an earlier one.
  const [parked] = agent.step?.parked(callId)?.wait?.ids ?? [];
  const id = parked ?? (await begin(agent, request));
  if (!block) {
    const known = agent.children.get(id);
    // The model learns of that end by this; what a client is told, it does not.
    if (known !== undefined && agent.children.hasSettled(id) && !agent.operations.has(callId)) {
      agent.inbox.withdraw(id, known.turn, known.status);
    }
    return { id, timedOut: false, interruptedByInput: false };
  }
  const waited = await wait(agent, { callId, ids: [id], timeoutMs, mode: 'any' });
  return { id, timedOut: waited.timed_out, interruptedByInput: waited.interrupted_by_input === true };
}

async function begin(agent: AgentState, request: EvaluateRequest): Promise<AgentId> {
  const { callId, whom, content, interrupt } = request;
  const id = await resolveAgent(agent, whom);
  if (id === agent.id) {
    throw new Refused({ code: 'not_permitted', message: `${whom} is this agent itself` });
  }
  if (content !== undefined) await send(agent, { callId, to: id, content, interrupt });
  else if (interrupt) await interruptBelow(agent, id);
  return id;
}
