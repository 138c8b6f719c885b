import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AgentId, depthOf, type TerminateAnswer, type TerminateRequest } from '../protocol/index.ts';

/** Ends an agent and all below it that still run, deepest first: what a workflow cannot do itself. */
export function terminateAgents(client: Client) {
  return async (request: TerminateRequest): Promise<TerminateAnswer> => {
    const { agent_id: id, reason, only_below: onlyBelow = false, known = [] } = request;
    const agents = new Set([...known, ...(await runningBelow(client, id)), ...(onlyBelow ? [] : [id])]);
    const terminated: AgentId[] = [];
    for (const agent of [...agents].sort((a, b) => depthOf(b) - depthOf(a))) {
      try {
        await client.workflow.getHandle(agent).terminate(reason);
        terminated.push(agent);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    }
    return { terminated };
  };
}

async function runningBelow(client: Client, id: AgentId): Promise<AgentId[]> {
  const query = `WorkflowId STARTS_WITH "${id}/" AND ExecutionStatus = "Running"`;
  const found: AgentId[] = [];
  for await (const execution of client.workflow.list({ query })) found.push(execution.workflowId as AgentId);
  return found;
}
