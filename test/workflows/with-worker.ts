import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { dataConverter } from '../../codec/index.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { PATIENCE } from './patience.ts';
import { ScriptedWorker, type WorkerChoices } from './scripted-worker.ts';
import { workflowBundle } from './test-bundle.ts';

/** A replay takes a tenth of a second and more. */
const REPLAYED = 8;

const { WorkflowTaskFailedCause, EventType } = temporal.api.enums.v1;

/**
 * One worker for all tests of a file. When they have run, no workflow task may have failed, and the longest histories
 * have to replay.
 */
export function withWorker(choices: WorkerChoices = {}): () => ScriptedWorker {
  vi.setConfig({ maxConcurrency: 10, testTimeout: 90_000 * PATIENCE, hookTimeout: 60_000 * PATIENCE });
  let connections: Connections;
  let worker: ScriptedWorker;
  beforeAll(async () => {
    connections = await connect();
    worker = new ScriptedWorker(connections, choices);
    await worker.run();
  });
  afterAll(async () => {
    await worker.stop();
    await expectSoundHistories(worker);
    await disconnect(connections);
  });
  return () => worker;
}

export async function expectSoundHistories(worker: ScriptedWorker): Promise<void> {
  const histories = await worker.histories();
  expect(histories.flatMap(({ workflowId, history }) => failedTasks(workflowId, history))).toEqual([]);
  const options = { workflowBundle: await workflowBundle(), dataConverter: dataConverter() };
  const longest = histories.sort((a, b) => lengthOf(b) - lengthOf(a)).slice(0, REPLAYED);
  for await (const { workflowId, error } of Worker.runReplayHistories(options, longest)) {
    if (error !== undefined) throw new Error(`${workflowId} does not replay`, { cause: error });
  }
}

function lengthOf({ history }: { history: temporal.api.history.v1.IHistory }): number {
  return history.events?.length ?? 0;
}

/** A task that found new signals waiting when it wanted to end the run is repeated, and a terminated one is dropped. */
const HARMLESS = [
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
  WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
];

function failedTasks(workflowId: string, history: temporal.api.history.v1.IHistory): string[] {
  return (history.events ?? []).flatMap((event) => {
    const failed = event.workflowTaskFailedEventAttributes;
    if (event.eventType === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED) return [`${workflowId} failed`];
    if (failed == null || HARMLESS.some((cause) => cause === failed.cause)) return [];
    return [`${workflowId}: ${WorkflowTaskFailedCause[failed.cause ?? 0]} ${failed.failure?.message}`];
  });
}
