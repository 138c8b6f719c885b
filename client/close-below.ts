import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type AgentId, depthOf, orphansOf, sessionOf, topmost } from '../protocol/index.ts';
import { listAgents } from './list.ts';
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
  // One that says that it has closed may take a moment to end.
  const left = (await runningBelow(client, id)).filter((agent) => !closed.includes(agent));
  for (const agent of left.sort((a, b) => depthOf(b) - depthOf(a))) {
    if (await terminate(client, agent, `closed with ${id}`)) closed.push(agent);
  }
  return closed;
}

async function runningBelow(client: Client, id: AgentId): Promise<AgentId[]> {
  const running = await listAgents(client, { session: sessionOf(id) });
  return orphansOf(
    running.map((agent) => agent.agent_id),
    [id],
  );
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
