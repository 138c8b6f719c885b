import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type AgentId, CadreError, parentOf, sessionOf } from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import { AgentLine } from './agent-line.ts';
import { translate } from './errors.ts';
import { isMissing } from './is-missing.ts';

/** Temporal deletes in the background. */
const GONE_WITHIN_MS = 15_000;
const POLL_MS = 100;

/**
 * Deletes every run of every agent of a closed session; it cannot be brought back.
 *
 * @returns the agents that were deleted
 * @throws CadreError `not_permitted` for a session that is open, and for an agent below a root; `agent_not_found`
 */
export async function removeSession(client: Client, namespace: string, id: AgentId): Promise<AgentId[]> {
  if (parentOf(id) !== undefined) {
    throw new CadreError('not_permitted', `agent ${id} is part of a session: only a whole one is removed.`, {
      hint: `cadre rm ${sessionOf(id)} removes the session.`,
    });
  }
  const root = await found(client, id);
  if (root !== undefined && isStillThere(root.status.name)) throw isOpen(id);
  // What has just ended may not stand in the list yet; whoever has deleted a root has left what was below it.
  const runs = new Map<string, AgentId>(root === undefined ? [] : [[root.runId, id]]);
  try {
    for await (const run of client.workflow.list({ query: `WorkflowId STARTS_WITH "${id}"` })) {
      if (run.workflowId !== id && !run.workflowId.startsWith(`${id}/`)) continue;
      if (isStillThere(run.status.name) && (await isRunning(client, run.workflowId as AgentId))) {
        throw isOpen(run.workflowId as AgentId);
      }
      runs.set(run.runId, run.workflowId as AgentId);
    }
    if (runs.size === 0) await new AgentLine(client, id).describe();
    for (const [run, workflowId] of runs) await deleteRun(client, namespace, workflowId, run);
  } catch (error) {
    throw translate(error, id);
  }
  await untilGone(client, id);
  return [...new Set(runs.values())].sort();
}

function isOpen(id: AgentId): CadreError {
  return new CadreError('not_permitted', `agent ${id} is open: only closed sessions are removed.`, {
    hint: `Close it first: cadre close ${id}`,
  });
}

async function isRunning(client: Client, id: AgentId): Promise<boolean> {
  const agent = await found(client, id);
  return agent !== undefined && isStillThere(agent.status.name);
}

async function deleteRun(client: Client, namespace: string, workflowId: AgentId, runId: string) {
  try {
    await client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
    });
  } catch (error) {
    // Somebody else, or retention, was quicker.
    if (!isMissing(translate(error, workflowId))) throw error;
  }
}

async function untilGone(client: Client, id: AgentId): Promise<void> {
  for (const end = Date.now() + GONE_WITHIN_MS; Date.now() < end; await sleep(POLL_MS)) {
    if ((await found(client, id)) === undefined) return;
  }
}

/** What the server knows of an agent; undefined where that is nothing. */
async function found(client: Client, id: AgentId) {
  try {
    return await new AgentLine(client, id).describe();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
