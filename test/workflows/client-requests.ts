import { expect } from 'vitest';
import { type AgentInput, findLastLife, type SnapshotPage } from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import type { ScriptedSession } from './scripted-session.ts';
import type { ScriptedWorker } from './scripted-worker.ts';

/** What clients do in several steps. */

/** What `cadre resume` does for a root, up to the moment at which it starts. */
export async function restartRoot(worker: ScriptedWorker, session: ScriptedSession): Promise<void> {
  const { runId: newest } = await session.agent().describe();
  const { runId, snapshot, reports } = await findLastLife(newest, (run) =>
    worker.client.workflow
      .getHandle(session.id, run)
      .query<SnapshotPage, [unknown]>('snapshot', { from: 0, to: 0 }),
  );
  const { identity, settings, session: shared } = snapshot;
  const input: AgentInput = {
    identity,
    settings,
    ...(shared === undefined ? {} : { session: shared }),
    restore: { kind: 'resume', run_id: runId, reports },
  };
  const { queue: taskQueue } = worker;
  await worker.client.workflow.start('agent', { workflowId: session.id, taskQueue, args: [input] });
}

export async function resumeRoot(worker: ScriptedWorker, session: ScriptedSession): Promise<void> {
  await restartRoot(worker, session);
  await session.until('root', (view) => !view.closed);
}

/** What `cadre resume` does for an agent below the root. */
export async function resumeBelow(session: ScriptedSession, name: string, recursive = false) {
  const request = { operation: 'resume', agent_id: session.idOf(name), recursive };
  const { operation_id } = await session
    .agent()
    .executeUpdate<{ operation_id: string }, [unknown]>('_operate', { args: [request] });
  const { success, output } = await session.outcomeOf(operation_id);
  return { success, output: JSON.parse(output) };
}

/** Waits until the workflow of an agent has ended, and says how. */
export function ended(session: ScriptedSession, name = 'root'): Promise<string> {
  return eventually(async () => {
    const { status } = await session.agent(name).describe();
    expect(status.name).not.toBe('RUNNING');
    return status.name;
  });
}
