import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AgentId, depthOf, type TerminateAnswer, type TerminateRequest } from '../protocol/index.ts';

/** What is ended may just have started others, which the server lists a moment later. */
const LOOKS = 3;

/**
 * Ends an agent and all below it that still run: what a workflow cannot do itself. Parents go first: one that hears of
 * the end of a child in its last moment no longer counts it among what was open when it ended itself, and what a
 * recursive resume brings back is just that.
 */
export function terminateAgents(client: Client) {
  return async (request: TerminateRequest): Promise<TerminateAnswer> => {
    const { agent_id: id, reason, only_below: onlyBelow = false, known = [] } = request;
    const seen = new Set<AgentId>();
    const terminated: AgentId[] = [];
    for (let look = 0, named = onlyBelow ? known : [id, ...known]; look < LOOKS; look++, named = []) {
      const fresh = [...new Set([...named, ...(await runningBelow(client, id))])].filter((a) => !seen.has(a));
      if (fresh.length === 0) break;
      for (const agent of fresh.sort((a, b) => depthOf(a) - depthOf(b))) {
        seen.add(agent);
        if (await terminate(client, agent, reason)) terminated.push(agent);
      }
    }
    return { terminated: terminated.sort((a, b) => depthOf(b) - depthOf(a)) };
  };
}

async function terminate(client: Client, agent: AgentId, reason: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(agent).terminate(reason);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function runningBelow(client: Client, id: AgentId): Promise<AgentId[]> {
  const query = `WorkflowId STARTS_WITH "${id}/" AND ExecutionStatus = "Running"`;
  const found: AgentId[] = [];
  for await (const execution of client.workflow.list({ query })) found.push(execution.workflowId as AgentId);
  return found;
}
