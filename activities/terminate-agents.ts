import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AgentId, depthOf, type TerminateAnswer, type TerminateRequest } from '../protocol/index.ts';

/** Ends an agent and all below it that still run, deepest first: what a workflow cannot do itself. */
export function terminateAgents(client: Client) {
  return async ({ agent_id: id, reason }: TerminateRequest): Promise<TerminateAnswer> => {
    const below = await runningBelow(client, id);
    const order = [...below, id].sort((a, b) => depthOf(b) - depthOf(a));
    const terminated: AgentId[] = [];
    for (const agent of order) {
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
