import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { dataConverter } from '../../codec/index.ts';
import { type AgentId, hostQueue, modelQueue } from '../../protocol/index.ts';
import { type CadreWorker, createWorker, type WorkerOptions } from '../../worker/index.ts';
import { folderWith } from '../support/folders.ts';
import { workflowBundle } from '../workflows/test-bundle.ts';
import { type Lines, withRealWorker } from './real-worker.ts';

const start = withRealWorker({ host: 'one' });
let temporal: Client;

beforeAll(async () => {
  temporal = new Client({ connection: await Connection.connect({ address: inject('temporalAddress') }) });
});
afterAll(() => temporal.connection.close());

const look: Lines[number] = { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
const spawn: Lines[number] = { calls: [{ name: 'spawn_agent', arguments: { message: 'look' } }] };
const waitForIt: Lines[number] = { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] };

/** The queue that an activity went to is no part of what replay checks: what replays has another one itself. */
async function replays(id: AgentId): Promise<void> {
  const history = await temporal.workflow.getHandle(id).fetchHistory();
  const options = { workflowBundle: await workflowBundle(), dataConverter: dataConverter() };
  await Worker.runReplayHistory(options, history, id);
}

/** Each activity of an agent's newest run, by name and queue, once. */
async function activities(id: AgentId): Promise<Set<string>> {
  const { events } = await temporal.workflow.getHandle(id).fetchHistory();
  const scheduled = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  return new Set(scheduled.map(({ activityType, taskQueue }) => `${activityType?.name} ${taskQueue?.name}`));
}

/** A worker that makes model calls, and has nothing of what others know. */
async function modelWorker(queue: string, more: Partial<WorkerOptions> = {}): Promise<CadreWorker> {
  const usual = { address: inject('temporalAddress'), queue, stateDir: '/nowhere', environment: {} };
  const worker = await createWorker({
    ...usual,
    agents: false,
    models: { providers: ['local'] },
    graceMs: 1_000,
    ...more,
  });
  onTestFinished(() => worker.stop());
  return worker;
}

test('a session that lives on a host does so whole: its children, what is resumed, and what is forked', async () => {
  const session = await start({
    host: 'one',
    settings: { working_directory: folderWith({ 'a.txt': 'x' }) },
    cast: {
      root: [look, spawn, waitForIt, { text: 'ok' }, { text: 'again' }],
      'default-1': [look, { text: 'done' }],
    },
  });
  const home = hostQueue(session.queue, 'one');
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  for (const name of ['root', 'default-1']) {
    const agent = session.agent(name);
    expect((await agent.describe()).queue, name).toBe(home);
    expect(await activities(agent.id), name).toEqual(
      new Set(
        ['model', 'list_dir', ...(name === 'root' ? ['resolve_role'] : [])].map((type) => `${type} ${home}`),
      ),
    );
  }
  await session.root.close();
  await session.root.resume({ recursive: true, input: 'go on' });
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'again' });
  for (const name of ['root', 'default-1']) expect((await session.agent(name).describe()).queue).toBe(home);
  const fork = await session.root.fork();
  expect((await fork.describe()).queue).toBe(home);
  await fork.close();
  await session.root.close();
});

test('model calls that are handed out, those of children and summaries too, are made by the workers of their queue', async () => {
  const session = await start({
    host: 'one',
    settings: {
      working_directory: folderWith({ 'long.txt': 'many words\n'.repeat(800) }),
      model_queue: true,
    },
    cast: {
      root: [
        { calls: [{ name: 'read_file', arguments: { path: 'long.txt' } }] },
        spawn,
        waitForIt,
        { text: 'before' },
        { text: 'the summary' },
        { text: 'after' },
      ],
      'default-1': [look, { text: 'done' }],
    },
  });
  const { queue, root } = session;
  const calls = modelQueue(queue, 'local');
  expect(await root.describe()).toMatchObject({ queue: hostQueue(queue, 'one'), model_queue: calls });
  await expect.poll(async () => (await root.status()).waiting_for, { timeout: 30_000 }).toBe('model');
  expect(session.requests('root')).toEqual([]);

  const first = await modelWorker(queue);
  expect(first.queues).toEqual([calls]);
  expect(await root.wait()).toMatchObject({ status: 'completed', message: 'before' });
  expect(session.requests('default-1')).toHaveLength(2);
  await first.stop();

  // It has seen nothing of this agent, and asks it for all.
  await modelWorker(queue);
  await root.compact();
  await root.send('go on');
  await expect.poll(async () => (await root.wait())?.turn, { timeout: 30_000 }).toBe(2);
  const [summary] = session.requests('root').slice(4);
  expect(JSON.stringify(summary?.body)).toContain('many words');
  const home = hostQueue(queue, 'one');
  const tools = ['read_file', 'resolve_role'].map((type) => `${type} ${home}`);
  expect(await activities(root.id)).toEqual(new Set([`model ${calls}`, ...tools]));
  expect(await activities(session.agent('default-1').id)).toEqual(
    new Set([`model ${calls}`, `list_dir ${home}`]),
  );
  await root.close();
  await replays(root.id);
});

test('a worker may make model calls beside its work for agents', async () => {
  const queue = `test-${randomUUID()}`;
  const both = await modelWorker(queue, { agents: true, host: 'two' });
  expect(both.queues).toEqual([queue, `${queue}@two`, `${queue}.models/local`]);
});

test('a worker that does nothing is refused, and so is one for what is no host', async () => {
  await expect(modelWorker('q', { models: { providers: [] } })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  await expect(modelWorker('q', { agents: true, host: 'no host' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('whether model calls are served is told apart from whether agents are', async () => {
  const cadre = await CadreClient.connect({ address: inject('temporalAddress') });
  onTestFinished(() => cadre.close());
  const queue = `test-${randomUUID()}`;
  await modelWorker(queue);
  const calls = modelQueue(queue, 'local');
  await expect.poll(() => cadre.hasWorkers(calls, 'models'), { timeout: 30_000 }).toBe(true);
  expect(await cadre.hasWorkers(calls)).toBe(false);
  expect(await cadre.hasWorkers(queue)).toBe(false);
});
