import { refusalOutput } from '../protocol/errors.ts';
import type { Operate, ToolCall } from '../protocol/index.ts';
import { planCall, problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { Refused } from './operations/refused.ts';
import { resume } from './operations/resume.ts';
import { answerCall } from './tool-calls.ts';

/** Does what a client has asked for, beside the turn, and keeps the outcome until it is looked for. */
export async function carryOut(agent: AgentState, id: string, request: Operate): Promise<void> {
  try {
    const { success, output } = await outcomeOf(agent, id, request);
    agent.operations.end(id, success, output);
  } catch (error) {
    agent.operations.end(id, false, refusalOf(error));
  }
}

async function outcomeOf(
  agent: AgentState,
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
      return answerCall(agent, plan, call);
    }
  }
}

function refusalOf(error: unknown): string {
  if (error instanceof Refused) return refusalOutput(error.body, error.details);
  const problem = problemOf(error);
  const message = problem.kind === 'cancelled' ? 'it was interrupted' : problem.message;
  return refusalOutput({ code: problem.kind === 'failed' ? problem.code : 'internal', message });
}
