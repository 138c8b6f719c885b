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
import { STILL_RUNS } from '../protocol/lives.ts';

/** Codes of gRPC that stay what they are, however often one asks: it is wrong, forbidden, or not possible. */
const FOR_GOOD: ReadonlySet<number> = new Set([3, 7, 9, 12, 16]);
/** What is ended may just have started others, which the server lists a moment later. */
const LOOKS = 3;

/**
 * Ends an agent and all below it that still run: what a workflow cannot do itself. One that cannot be ended leaves none
 * of the others running. Parents go first: one that hears of the end of a child in its last moment no longer counts it
 * among what was open when it ended itself, and what a recursive resume brings back is just that.
 */
export function terminateAgents(client: Client) {
  return async (request: TerminateRequest): Promise<TerminateAnswer> => {
    const { agent_id: id, reason, only_below: onlyBelow = false, known = [] } = request;
    const seen = new Set<AgentId>();
    const terminated: AgentId[] = [];
    const problems = new Map<AgentId, unknown>();
    for (let look = 0, named = onlyBelow ? known : [id, ...known]; look < LOOKS; look++, named = []) {
      const fresh = [...new Set([...named, ...(await runningBelow(client, id))])].filter((a) => !seen.has(a));
      if (fresh.length === 0) break;
      for (const agent of fresh.sort((a, b) => depthOf(a) - depthOf(b))) {
        seen.add(agent);
        try {
          await client.workflow.getHandle(agent).terminate(reason);
          terminated.push(agent);
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError)) problems.set(agent, error);
        }
      }
    }
    terminated.sort((a, b) => depthOf(b) - depthOf(a));
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
  const query = `WorkflowId STARTS_WITH "${id}/" AND ${STILL_RUNS}`;
  const found: AgentId[] = [];
  for await (const execution of client.workflow.list({ query })) found.push(execution.workflowId as AgentId);
  return found;
}
