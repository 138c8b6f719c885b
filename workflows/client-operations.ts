import { isCancellation } from '@temporalio/workflow';
import { refusalOutput } from '../protocol/errors.ts';
import type { ErrorBody, Operate, ToolCall } from '../protocol/index.ts';
import { bodyOf, planCall } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { Refused } from './operations/refused.ts';
import { resume } from './operations/resume.ts';
import { Stoppable } from './stoppable.ts';
import { answerCall } from './tool-calls.ts';

/**
 * Does what a client has asked for, beside the turn, and keeps the outcome until it is looked for. An interrupt of the
 * turn does not stop it, the closing of the agent does.
 */
export function carryOut(agent: AgentState, id: string, request: Operate): void {
  if (agent.closing !== undefined) {
    agent.operations.end(id, false, refusalOutput(isClosing(agent)));
    return;
  }
  const work = new Stoppable();
  const done = work.scope
    .run(() => outcomeOf(agent, work, id, request))
    .then(
      ({ success, output }) => agent.operations.end(id, success, output),
      (error: unknown) => agent.operations.end(id, false, refusalOf(agent, error)),
    );
  void agent.sideWork.track(done, work);
}

async function outcomeOf(
  agent: AgentState,
  work: Stoppable,
  id: string,
  request: Operate,
): Promise<{ success: boolean; output: string }> {
  switch (request.operation) {
    case 'resume': {
      const { recursive, agent_id: reference } = request;
      const result = await resume(agent, reference, { callId: id, recursive });
      return { success: true, output: JSON.stringify(result) };
    }
    case 'call': {
      const call: ToolCall = {
        type: 'tool_call',
        call_id: id,
        name: request.tool,
        arguments: request.arguments,
      };
      const plan = await planCall({ agent: agent.reference(), call }, `plan ${request.tool}`);
      return answerCall(agent, work, plan, call);
    }
  }
}

function refusalOf(agent: AgentState, error: unknown): string {
  if (error instanceof Refused) return refusalOutput(error.body, error.details);
  return refusalOutput(isCancellation(error) ? isClosing(agent) : bodyOf(error));
}

function isClosing(agent: AgentState): ErrorBody {
  return { code: 'agent_closed', message: `agent ${agent.id} is closing` };
}
