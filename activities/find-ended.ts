import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { AgentId, EndedAnswer, EndedRequest } from '../protocol/index.ts';
import { isStillThere, STILL_RUNS } from '../protocol/lives.ts';

/** So many ids fit into one question. */
const AT_ONCE = 50;

/**
 * The `find_ended` activity: asks for many agents at once which still run. The server's list is a moment behind, so
 * those that are not on it are looked at one by one.
 */
export function findEnded(client: Client) {
  return async ({ agents }: EndedRequest): Promise<EndedAnswer> => {
    const ended: AgentId[] = [];
    for (let from = 0; from < agents.length; from += AT_ONCE) {
      const some = agents.slice(from, from + AT_ONCE);
      const running = await listed(client, some);
      for (const agent of some) {
        if (!running.has(agent) && (await hasEnded(client, agent))) ended.push(agent);
      }
    }
    return { ended };
  };
}

async function listed(client: Client, agents: AgentId[]): Promise<Set<string>> {
  const ids = agents.map((agent) => `"${agent}"`).join(', ');
  const query = `WorkflowId IN (${ids}) AND ${STILL_RUNS}`;
  const running = new Set<string>();
  for await (const { workflowId } of client.workflow.list({ query })) running.add(workflowId);
  return running;
}

async function hasEnded(client: Client, agent: AgentId): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(agent).describe();
    return !isStillThere(status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}
