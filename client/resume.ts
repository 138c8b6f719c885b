import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import {
  type AgentId,
  type AgentInput,
  CadreError,
  parentOf,
  QUERIES,
  type SnapshotPage,
  sessionOf,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';
import { AgentLine } from './agent-line.ts';
import { translate } from './errors.ts';
import { operate } from './operate.ts';
import { refusalIn } from './refusal.ts';
import { startRoot } from './start-workflow.ts';

/**
 * Brings a closed agent back, and with `recursive` what was open below it.
 *
 * @returns what was brought back, parents before their children; nothing where the agent was open
 */
export async function bringBack(client: Client, id: AgentId, recursive: boolean): Promise<AgentId[]> {
  const resumed = await (parentOf(id) === undefined
    ? bringRootBack(client, id, recursive)
    : bringBackBelow(client, id, recursive));
  // Back is who answers: until then an agent reads what it was, and needs a worker for that.
  for (const each of resumed) await new AgentLine(client, each).query(QUERIES.status);
  return resumed;
}

async function bringRootBack(client: Client, id: AgentId, recursive: boolean): Promise<AgentId[]> {
  const line = new AgentLine(client, id);
  const { type, status, runId, taskQueue } = await line.describe();
  if (type !== WORKFLOW_TYPE) {
    throw new CadreError('agent_not_found', `${id} is a workflow, but not an agent of Cadre.`);
  }
  if (status.name === 'RUNNING') return [];
  // The items are read by the agent itself; this asks for none.
  const snapshot = await line.query<SnapshotPage>(QUERIES.snapshot, { from: 0, to: 0 }, runId);
  const { identity, settings, session, note, open_children: children } = snapshot;
  const input: AgentInput = {
    identity,
    settings,
    ...(session === undefined ? {} : { session }),
    ...(note === undefined ? {} : { note }),
    restore: { kind: 'resume', run_id: runId },
  };
  try {
    await startRoot(client, taskQueue, input);
  } catch (error) {
    // Somebody else has just done the same.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return [];
    throw translate(error, id);
  }
  const resumed = [id];
  if (!recursive) return resumed;
  for (const child of children) resumed.push(...(await bringBackBelow(client, child, true)));
  return resumed;
}

/** The root starts it again: it keeps the slots, and whoever is below it reports to it. */
async function bringBackBelow(client: Client, id: AgentId, recursive: boolean): Promise<AgentId[]> {
  const root = sessionOf(id);
  try {
    const { success, output } = await operate(new AgentLine(client, root), {
      operation: 'resume',
      agent_id: id,
      recursive,
    });
    if (!success) throw refusedResume(id, output);
    return (JSON.parse(output) as { resumed: AgentId[] }).resumed;
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'agent_closed') throw error;
    throw new CadreError(
      'agent_not_resumable',
      `agent ${id} cannot be resumed: the root of its session is closed`,
      {
        hint: `Resume the root first: cadre resume ${root} (with --recursive what was open below it comes back, too).`,
        cause: error,
      },
    );
  }
}

function refusedResume(id: AgentId, output: string): CadreError {
  const body = refusalIn(output);
  if (body === undefined) return new CadreError('agent_not_resumable', `agent ${id}: ${output}`);
  const { code, message, hint, retryable } = body;
  return new CadreError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}
