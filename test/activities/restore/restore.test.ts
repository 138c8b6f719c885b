import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFindClosedAgent } from '../../../activities/restore/find-closed-agent.ts';
import { createReadItems, createReadSnapshot } from '../../../activities/restore/read-run.ts';
import { type AgentId, textMessage } from '../../../protocol/index.ts';
import { type Connections, connect, disconnect } from '../../workflows/connect.ts';
import type { ArchiveInput } from './archive.ts';

const taskQueue = `restore-${randomUUID()}`;
let connections: Connections;
let client: Client;
let worker: Worker;
let running: Promise<void>;
beforeAll(async () => {
  connections = await connect();
  client = new Client({ connection: connections.client });
  worker = await Worker.create({
    connection: connections.native,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./archive.ts', import.meta.url)),
  });
  running = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await disconnect(connections);
});

const newId = () => `archive-${randomUUID()}` as AgentId;
const itemsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => textMessage(`${name} ${n}`));

/** Starts a run of an agent and leaves it in the state that is wanted. */
async function runOf(
  agent_id: AgentId,
  end: 'open' | 'finished' | 'terminated' | 'cancelled',
  input: Partial<ArchiveInput> = {},
) {
  const handle = await client.workflow.start('agent', {
    workflowId: agent_id,
    taskQueue,
    args: [{ name: 'a', items: 9, ...input }],
  });
  // What is closed before its first task never ran.
  await handle.query('items', {});
  if (end === 'finished') {
    await handle.signal('finish');
    await handle.result();
  }
  if (end === 'terminated') await handle.terminate('by a person');
  if (end === 'cancelled') {
    await handle.cancel();
    await handle.result().catch(() => {});
  }
  return { agent_id, run_id: handle.firstExecutionRunId };
}

const find = (agent_id: AgentId) => createFindClosedAgent(client)({ agent_id });

type Run = Awaited<ReturnType<typeof runOf>>;
const read = (run: Run, from: number, to: number) => createReadItems(client)({ ...run, from, to });

test.each(['open', 'finished', 'terminated', 'cancelled'] as const)(
  'state and conversation of a run that is %s are read, in parts as large as one answer takes',
  async (end) => {
    const run = await runOf(newId(), end);
    expect(await createReadSnapshot(client)(run)).toEqual({ state: { of: 'a' }, total: 9 });
    expect(await read(run, 0, 5)).toEqual({ items: itemsOf('a', 9).slice(0, 5) });
    expect(await read(run, 0, 9)).toEqual({ items: itemsOf('a', 9).slice(0, 6) });
    expect(await read(run, 6, 9)).toEqual({ items: itemsOf('a', 9).slice(6) });
  },
);

test.each(['finished', 'terminated', 'cancelled'] as const)('an agent that was %s is found', async (end) => {
  const { agent_id, run_id } = await runOf(newId(), end);
  expect(await find(agent_id)).toEqual({
    ok: true,
    run_id,
    identity: { task: 'a' },
    settings: { role: 'worker' },
    status: 'completed',
    note: 'note of a',
    closed: end === 'finished',
    open_children: ['below'],
    reports: 7,
  });
});

test('a run that could not be brought back leads to the one that knows what the agent was', async () => {
  const id = newId();
  const first = await runOf(id, 'finished', { name: 'first' });
  const second = await runOf(id, 'finished', { name: 'second', unrestored: first.run_id });
  await runOf(id, 'terminated', { name: 'third', unrestored: second.run_id });
  expect(await find(id)).toMatchObject({ ok: true, run_id: first.run_id, identity: { task: 'first' } });
});

test('of several runs the newest counts', async () => {
  const id = newId();
  const first = await runOf(id, 'finished', { name: 'first' });
  const second = await runOf(id, 'finished', { name: 'second', items: 2 });
  expect(await find(id)).toMatchObject({ ok: true, run_id: second.run_id, identity: { task: 'second' } });
  expect((await createReadSnapshot(client)(first)).state).toEqual({ of: 'first' });
  await runOf(id, 'open', { name: 'third' });
  expect(await find(id)).toMatchObject({ ok: false, error: { code: 'agent_not_resumable' } });
});

test('an open agent, a missing one and a stranger are told apart from what can be resumed', async () => {
  const { agent_id } = await runOf(newId(), 'open');
  expect(await find(agent_id)).toMatchObject({
    ok: false,
    error: { code: 'agent_not_resumable', message: expect.stringContaining(`${agent_id} is open`) },
  });
  const missing = newId();
  expect(await find(missing)).toMatchObject({
    ok: false,
    error: { code: 'agent_not_found', message: expect.stringContaining(missing) },
  });
  const workflowId = newId();
  await client.workflow.execute('stranger', { workflowId, taskQueue });
  expect(await find(workflowId)).toMatchObject({ ok: false, error: { code: 'agent_not_found' } });
});

test('a run that is gone is not asked for again', async () => {
  const run = { agent_id: newId(), run_id: randomUUID() };
  const readings = [() => createReadSnapshot(client)(run), () => read(run, 0, 1)];
  // One after the other: a second one that failed meanwhile would be a rejection that nobody handles.
  for (const reading of readings) {
    await expect(reading()).rejects.toMatchObject({
      type: 'agent_not_resumable',
      nonRetryable: true,
      message: expect.stringContaining(run.run_id),
    });
  }
});

test('a run that nobody answers for may be asked again', async () => {
  const run = await runOf(newId(), 'finished');
  const deadlines: number[] = [];
  const unanswered = Object.create(client, {
    withDeadline: {
      value: async (deadline: number, ask: () => Promise<unknown>) => {
        deadlines.push(deadline - Date.now());
        // The description comes from the server, the rest from a worker.
        if (ask.toString().includes('describe')) return ask();
        throw new Error('deadline exceeded');
      },
    },
  }) as Client;
  for (const asking of [
    createReadSnapshot(unanswered)(run),
    createReadItems(unanswered)({ ...run, from: 0, to: 1 }),
    createFindClosedAgent(unanswered)({ agent_id: run.agent_id }),
  ]) {
    await expect(asking).rejects.toMatchObject({
      nonRetryable: false,
      message: expect.stringContaining('deadline exceeded'),
    });
  }
  expect(deadlines).toHaveLength(4);
  expect(Math.max(...deadlines)).toBeLessThanOrEqual(30_000);
});

test('an answer that cannot be decoded is none, and another worker may read it', async () => {
  const undecodable = { undecodable: { encoding: 'binary/sealed', reason: 'no key k1' } };
  const sealed = Object.create(client, {
    withDeadline: { value: async () => undecodable },
  }) as Client;
  const run = { agent_id: newId(), run_id: randomUUID() };
  await expect(createReadSnapshot(sealed)(run)).rejects.toMatchObject({
    nonRetryable: false,
    message: expect.stringContaining('no key k1'),
  });
});

test('fewer items than there should be are no conversation', async () => {
  const run = await runOf(newId(), 'finished');
  await expect(read(run, 9, 20)).rejects.toMatchObject({
    message: expect.stringContaining('gave 9 items of 20'),
  });
});
