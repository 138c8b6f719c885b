import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { UNBROKEN } from '../../worker/workflow-code.ts';

/** As long as the SDK lets a call into workflow code take. */
const SDK_MS = 5_000;
const STANDS_MS = 8_000;
/** Two workflows in one worker: one that stands still for long, and one beside it that only sleeps. */
async function bothOn(options: object): Promise<{ stands: WorkflowHandle; sleeps: WorkflowHandle }> {
  const address = inject('temporalAddress');
  const connection = await NativeConnection.connect({ address });
  const client = new Client({ connection: await Connection.connect({ address }) });
  const taskQueue = `busy-${randomUUID()}`;
  const workflowsPath = fileURLToPath(new URL('./busy-workflows.ts', import.meta.url));
  const worker = await Worker.create({ connection, taskQueue, workflowsPath, ...options });
  const running = worker.run();
  const start = (workflow: string, arg: number) =>
    client.workflow.start(workflow, { workflowId: randomUUID(), taskQueue, args: [arg] });
  const sleeps = await start('sleeping', 60);
  const stands = await start('standing', STANDS_MS);
  onTestFinished(async () => {
    await Promise.all([stands, sleeps].map((each) => each.terminate().catch(() => {})));
    worker.shutdown();
    await running;
    await connection.close();
    await client.connection.close();
  });
  return { stands, sleeps };
}

async function eventsOf(handle: WorkflowHandle): Promise<string> {
  return JSON.stringify((await handle.fetchHistory()).events?.map((event) => Object.keys(event)));
}

/** In milliseconds, from start to completion. */
async function longestTaskOf(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  let longest = 0;
  let started = 0;
  for (const event of events ?? []) {
    const at = Number(event.eventTime?.seconds) * 1_000 + (event.eventTime?.nanos ?? 0) / 1e6;
    if (event.workflowTaskStartedEventAttributes) started = at;
    if (event.workflowTaskCompletedEventAttributes) longest = Math.max(longest, at - started);
  }
  return longest;
}

const SIGNAL = 'signalExternalWorkflowExecutionInitiated';
const FAILED = 'workflowTaskFailed';

test('code that takes long on a busy machine ends, and leaves nothing to another agent of its worker', async () => {
  const { stands, sleeps } = await bothOn(UNBROKEN);
  await Promise.all([stands.result(), sleeps.result()]);
  expect(await longestTaskOf(stands)).toBeGreaterThan(SDK_MS);
  expect(await eventsOf(sleeps)).not.toContain(SIGNAL);
  expect(await eventsOf(stands)).not.toContain(FAILED);
}, 180_000);

// Once this fails, the SDK keeps agents apart, and the option may go (docs/decisions/036).
test('with the time that the SDK gives, it is broken off, and another one sends what it had left to send', async () => {
  const { sleeps } = await bothOn({});
  await expect.poll(() => eventsOf(sleeps), { timeout: 90_000, interval: 1_000 }).toContain(SIGNAL);
}, 180_000);
