import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { type Agent, CadreClient } from '../../client/index.ts';
import type { AgentEvent } from '../../protocol/index.ts';
import { ensureServer } from '../../server/index.ts';
import { readRecord } from '../../server/record.ts';
import { CadreHome, type Running, SCRIPTS } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
afterAll(() => home.remove());

/** When the time of each of them runs out. */
const LIMIT_MS = 20_000;
/** All of them have run out by then, and nobody was there. */
const AWAY_MS = LIMIT_MS + 5_000;
/** A worker that is back may have to wait for what was handed to the one before. */
const BACK_MS = 60_000;

async function worker(queue: string): Promise<Running> {
  const running = home.start(['worker', '--queue', queue]);
  await running.says(/Working for the queue/);
  return running;
}

function start(client: CadreClient, queue: string, task: string, limits = {}): Promise<Agent> {
  return client.start({
    task,
    queue,
    settings: {
      model: 'script',
      provider: 'script',
      working_directory: home.newFolder('timers'),
      limits,
    },
    session: { model_providers: { script: { script: join(SCRIPTS, 'timers.yaml') } } },
  });
}

async function eventsOf(agent: Agent): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.events()) events.push(event);
  return events;
}

async function kill(pid: number | undefined): Promise<void> {
  if (pid === undefined) throw new Error('it does not run');
  process.kill(pid, 'SIGKILL');
  const isGone = () => !home.pids().includes(pid);
  await expect.poll(isGone, { timeout: 10_000 }).toBe(true);
}

test.each([
  ['the worker', false],
  ['the worker, and the server with it,', true],
])(
  'a time that runs out while %s is away: each ends as it would have, told once, soon after',
  async (name, both) => {
    const queue = name.replaceAll(/\W/g, '-');
    const before = await CadreClient.connect(await ensureServer({ home: home.home }));
    const first = await worker(queue);
    const ids = await Promise.all([
      start(before, queue, 'waits'),
      start(before, queue, 'slow', { max_wall_ms: LIMIT_MS }),
      start(before, queue, 'idles', { max_runtime_ms: LIMIT_MS }),
    ]).then((agents) => agents.map(({ id }) => id));
    const stand = async () => {
      const views = await Promise.all(ids.map((id) => before.get(id).status()));
      return views.map((view) => view.waiting_for ?? view.status);
    };
    await expect.poll(stand, { timeout: 18_000, interval: 200 }).toEqual(['agents', 'model', 'completed']);
    await kill(first.child.pid);
    await before.close();
    if (both) await kill((await readRecord(home.home))?.pid);
    await sleep(AWAY_MS);

    const after = await CadreClient.connect(await ensureServer({ home: home.home }));
    const second = await worker(queue);
    const back = Date.now();
    const [waits, slow, idles] = ids.map((id) => after.get(id)) as [Agent, Agent, Agent];
    expect(await waits.wait({ timeoutMs: BACK_MS })).toMatchObject({
      status: 'completed',
      message: 'timed out: true',
      turn: 1,
    });
    expect(await slow.wait({ timeoutMs: BACK_MS })).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('agents.max_wall_ms'),
      turn: 1,
    });
    const isClosed = async () => (await idles.describe()).closed;
    await expect.poll(isClosed, { timeout: BACK_MS, interval: 500 }).toBe(true);
    expect(await idles.status()).toMatchObject({ closed: true, message: expect.stringContaining('idle') });
    expect(Date.now() - back).toBeLessThan(BACK_MS);

    const told = async (agent: Agent, type: string) =>
      (await eventsOf(agent)).filter((event) => event.type === type);
    expect(await told(waits, 'agent.wait.end')).toEqual([expect.objectContaining({ timed_out: true })]);
    expect(await told(waits, 'turn.completed')).toHaveLength(1);
    expect(await told(slow, 'turn.failed')).toEqual([expect.objectContaining({ code: 'limit_wall' })]);
    const warnings = (await told(idles, 'warning')).map((event) => JSON.stringify(event));
    expect(warnings).toEqual([expect.stringContaining('agents.max_runtime_ms')]);
    expect(await told(idles, 'turn.failed')).toEqual([]);
    // The model that was asked again when its worker had gone has not answered into a turn that was over.
    const { items } = await slow.items();
    expect(items.filter(({ type }) => type === 'assistant_message')).toEqual([]);
    await waits.close();
    await after.close();
    await kill(second.child.pid);
  },
);
