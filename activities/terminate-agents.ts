import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  type AgentId,
  depthOf,
  type NotClosed,
  type TerminateAnswer,
  type TerminateProblem,
  type TerminateRequest,
} from '../protocol/index.ts';

/** Codes of gRPC that stay what they are, however often one asks: it is wrong, forbidden, or not possible. */
const FOR_GOOD: ReadonlySet<number> = new Set([3, 7, 9, 12, 16]);

/**
 * Ends an agent and all below it that still run, deepest first: what a workflow cannot do itself. One that cannot be
 * ended leaves none of the others running.
 */
export function terminateAgents(client: Client) {
  return async (request: TerminateRequest): Promise<TerminateAnswer> => {
    const { agent_id: id, reason, only_below: onlyBelow = false, known = [] } = request;
    const agents = new Set([...known, ...(await runningBelow(client, id)), ...(onlyBelow ? [] : [id])]);
    const terminated: AgentId[] = [];
    const problems = new Map<AgentId, unknown>();
    for (const agent of [...agents].sort((a, b) => depthOf(b) - depthOf(a))) {
      try {
        await client.workflow.getHandle(agent).terminate(reason);
        terminated.push(agent);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) problems.set(agent, error);
      }
    }
    if (problems.size > 0) throw failureOf(terminated, problems);
    return { terminated };
  };
}

function failureOf(terminated: AgentId[], problems: ReadonlyMap<AgentId, unknown>): ApplicationFailure {
  const not_terminated = [...problems].map(([agent_id, error]): NotClosed => {
    const message = error instanceof Error ? error.message : String(error);
    return { agent_id, error: { code: 'internal', message: `it could not be terminated: ${message}` } };
  });
  const detail: TerminateProblem = { terminated, not_terminated };
  return ApplicationFailure.create({
    message: not_terminated.map(({ agent_id, error }) => `${agent_id}: ${error.message}`).join('; '),
    type: 'internal',
    nonRetryable: [...problems.values()].every(
      (error) => isGrpcServiceError(error) && FOR_GOOD.has(error.code),
    ),
    details: [detail],
  });
}

async function runningBelow(client: Client, id: AgentId): Promise<AgentId[]> {
  const query = `WorkflowId STARTS_WITH "${id}/" AND ExecutionStatus = "Running"`;
  const found: AgentId[] = [];
  for await (const execution of client.workflow.list({ query })) found.push(execution.workflowId as AgentId);
  return found;
}
