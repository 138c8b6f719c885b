import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AgentId, depthOf, topmost } from '../protocol/index.ts';
import type { Agent } from './types.ts';

/** An agent gets 20 s to acknowledge its closing, and so does what is below it. */
const CLOSE_MS = 30_000;

/**
 * Closes what still runs below an agent that has ended without closing it: somebody has ended it with Temporal's own
 * tools. What does not close in time is terminated.
 *
 * @returns what was closed, leaf first
 */
export async function closeBelow(
  client: Client,
  id: AgentId,
  handle: (id: AgentId) => Pick<Agent, 'close'>,
): Promise<AgentId[]> {
  const tops = topmost(await runningBelow(client, id));
  const closed = (await Promise.all(tops.map((top) => closeInTime(handle(top))))).flat();
  for (const agent of (await runningBelow(client, id)).sort((a, b) => depthOf(b) - depthOf(a))) {
    if (await terminate(client, agent, `closed with ${id}`)) closed.push(agent);
  }
  return closed;
}

async function runningBelow(client: Client, id: AgentId): Promise<AgentId[]> {
  const query = `WorkflowId STARTS_WITH "${id}/" AND ExecutionStatus = "Running"`;
  const ids: AgentId[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId as AgentId);
  return ids;
}

/** One that cannot be closed is terminated. */
function closeInTime(agent: Pick<Agent, 'close'>): Promise<AgentId[]> {
  const closing = agent.close('what it worked for was ended from outside').then(({ closed }) => closed);
  return Promise.race([closing.catch(() => []), sleep(CLOSE_MS, [], { ref: false })]);
}

async function terminate(client: Client, id: AgentId, reason: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(id).terminate(reason);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
