import { expect, test } from 'vitest';
import { hostQueue, newRootId } from '../../protocol/index.ts';
import { type Clock, Sweeper } from '../../worker/sweeper.ts';
import { ended } from '../workflows/client-requests.ts';
import { deepSession } from '../workflows/deep-session.ts';
import { eventually } from '../workflows/eventually.ts';
import type { ScriptedSession } from '../workflows/scripted-session.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
const LEVELS = ['default-1', 'default-1/default-1'];

function sweeper(lateMs?: number) {
  const lines: string[] = [];
  const { client, queue } = worker();
  const log = (line: string) => void lines.push(line);
  return { lines, sweeper: new Sweeper({ client, queue, log, ...(lateMs === undefined ? {} : { lateMs }) }) };
}

/** The server's list is a moment behind. */
const listed = (session: ScriptedSession, count: number) =>
  eventually(async () => {
    const query = `WorkflowId STARTS_WITH "${session.id}" AND ExecutionStatus = "Running"`;
    expect((await worker().client.workflow.count(query)).count).toBe(count);
  });

const doesEnd = async (session: ScriptedSession, how: string) => {
  for (const name of LEVELS) expect(await ended(session, name)).toBe(how);
};

test('a session whose root runs is left alone', async () => {
  const session = await deepSession(worker());
  await listed(session, 3);
  const { sweeper: looking, lines } = sweeper(0);
  await looking.sweep();
  await looking.sweep();
  expect(lines).toEqual([]);
  await session.agent().terminate('enough');
  await looking.sweep();
});

test('what a terminated root has left is told to close, leaf first, and its topmost agent is named', async () => {
  const session = await deepSession(worker());
  await session.agent().terminate('by a person');
  await listed(session, 2);
  const { sweeper: looking, lines } = sweeper();
  await looking.sweep();
  await doesEnd(session, 'COMPLETED');
  expect(lines).toEqual([`closing ${session.idOf('default-1')}: what it worked for was ended from outside`]);
});

test('the same where the root was deleted, so that the server knows nothing of it', async () => {
  const session = await deepSession(worker());
  await worker().client.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: session.id },
  });
  await listed(session, 2);
  await sweeper().sweeper.sweep();
  await doesEnd(session, 'COMPLETED');
  worker().forget(session.id);
});

test('an agent whose parent has ended is closed also while its root runs on', async () => {
  const session = await deepSession(worker());
  await session.agent('default-1').terminate('by a person');
  await listed(session, 1);
  expect(await ended(session, 'default-1/default-1')).toBe('TERMINATED');
  await session.agent().terminate('enough');
});

test('who does not close in time is terminated', async () => {
  const session = await deepSession(worker());
  await session.agent().terminate('by a person');
  await listed(session, 2);
  await worker().stop();
  try {
    const { sweeper: looking, lines } = sweeper(0);
    await looking.sweep();
    expect(lines).toEqual([expect.stringMatching(/^closing /)]);
    await looking.sweep();
    expect(lines.at(-1)).toContain(`terminated ${session.idOf('default-1/default-1')}, `);
    await doesEnd(session, 'TERMINATED');
  } finally {
    await worker().run();
  }
});

test('who could not be told is told the next time, and not taken for late', async () => {
  const session = await deepSession(worker());
  await session.agent().terminate('by a person');
  await listed(session, 2);
  const { client: real, queue } = worker();
  let failures = 1;
  const workflow = Object.create(real.workflow) as typeof real.workflow;
  workflow.getHandle = ((id: string) => {
    const handle = real.workflow.getHandle(id);
    const signal: typeof handle.signal = async (...args) => {
      if (failures-- > 0) throw new Error('cut off');
      return handle.signal(...args);
    };
    return { ...handle, signal };
  }) as typeof workflow.getHandle;
  const client = Object.create(real, { workflow: { value: workflow } }) as typeof real;
  const looking = new Sweeper({ client, queue, log: () => {}, lateMs: 0 });
  await expect(looking.sweep()).rejects.toThrow('cut off');
  await looking.sweep();
  await doesEnd(session, 'COMPLETED');
});

test('what lives on a host that is gone is looked for, too, and nothing of another queue', async () => {
  const { client, queue } = worker();
  const orphanOn = async (taskQueue: string) => {
    const workflowId = `${newRootId(Date.now(), Math.random)}/worker-1`;
    return client.workflow.start('agent', { workflowId, taskQueue, args: [] });
  };
  const [left, foreign] = [await orphanOn(hostQueue(queue, 'gone')), await orphanOn(`${queue}-2@gone`)];
  await eventually(async () => {
    const query = `TaskQueue STARTS_WITH "${queue}" AND ExecutionStatus = "Running"`;
    expect((await client.workflow.count(query)).count).toBe(2);
  });
  const { sweeper: looking, lines } = sweeper(0);
  await looking.sweep();
  await looking.sweep();
  expect(lines.at(-1)).toContain(`terminated ${left.workflowId}: `);
  expect((await left.describe()).status.name).toBe('TERMINATED');
  expect((await foreign.describe()).status.name).toBe('RUNNING');
  await foreign.terminate('enough');
});

/** A clock that does not wait, and stops when so much time has passed by it. */
function skippingClock(until: number): { clock: Clock; signal: AbortSignal } {
  const over = new AbortController();
  let now = 0;
  const sleep: Clock['sleep'] = async (ms) => {
    now += ms;
    if (now > until) over.abort();
  };
  return { clock: { now: () => now, sleep }, signal: over.signal };
}

test.each([
  ['that works', true],
  ['that does nothing any more', false],
])(
  'five minutes after a root was terminated nothing of its tree runs, with a worker %s',
  async (_, works) => {
    const session = await deepSession(worker());
    await session.agent().terminate('by a person');
    await listed(session, 2);
    if (!works) await worker().stop();
    try {
      const { clock, signal } = skippingClock(5 * 60_000);
      const { client, queue } = worker();
      const lines: string[] = [];
      await new Sweeper({ client, queue, clock, log: (line) => void lines.push(line) }).run(signal);
      for (const name of LEVELS) {
        const { status } = await client.workflow.getHandle(session.idOf(name)).describe();
        expect(['COMPLETED', 'TERMINATED']).toContain(status.name);
      }
      expect(lines[0]).toMatch(/^closing /);
      if (!works) expect(lines.at(-1)).toMatch(/^terminated /);
    } finally {
      if (!works) await worker().run();
    }
  },
);
