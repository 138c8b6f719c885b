import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Connections, connect, disconnect } from './connect.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { PATIENCE } from './patience.ts';
import { call, heard, lastOutput, lines, never, outputs, say, spawn, wait, waitForAll } from './script.ts';
import { ScriptedWorker, type WorkerChoices } from './scripted-worker.ts';
import { expectSoundHistories } from './with-worker.ts';

vi.setConfig({ testTimeout: 120_000 * PATIENCE });
let connections: Connections;

beforeAll(async () => {
  connections = await connect();
});
afterAll(() => disconnect(connections));

async function withOwnWorker(
  choices: WorkerChoices,
  run: (worker: ScriptedWorker) => Promise<void>,
): Promise<void> {
  const worker = new ScriptedWorker(connections, choices);
  await worker.run();
  try {
    await run(worker);
  } finally {
    await worker.stop();
  }
  await expectSoundHistories(worker);
}

describe.concurrent('a session', () => {
  test('goes on where it was when its worker comes back', () =>
    withOwnWorker({}, async (worker) => {
      const gate = new Gate();
      const ran: string[] = [];
      const session = await worker.start({
        session: { one_shot: true },
        script: lines({
          // The input ends the first wait, the second one is for the agents.
          root: [spawn('one', 'two'), waitForAll, waitForAll, say('all done')],
          'default-1': [() => gate.opened.then(() => say('one'))],
          'default-2': [call('act'), ({ items }) => say(lastOutput(items, 'act').error.code)],
        }),
        tools: {
          act: ({ agent }) => {
            ran.push(agent);
            return never();
          },
        },
      });
      await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
      await session.until('default-2', ({ waiting_for }) => waiting_for === 'tool');
      await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
      await worker.stop();
      await session.send({ message: 'meanwhile' });
      gate.open();
      await worker.run();
      expect(await session.result()).toMatchObject({ status: 'completed', output: 'all done' });
      expect(heard(await session.items())).toContain('meanwhile');
      expect(await session.status('default-2')).toMatchObject({ message: 'outcome_unknown' });
      expect(ran).toEqual(['default-2']);
    }));

  test('has a wait end by its time, though the worker was away when the time was up', () =>
    withOwnWorker({}, async (worker) => {
      const gate = new Gate();
      const session = await worker.start({
        script: lines({
          root: [spawn('slow'), wait(['default-1'], { timeout_ms: 10_000 }), waitForAll, say('ok')],
          'default-1': [() => gate.opened.then(() => say('late'))],
        }),
      });
      await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
      await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
      const [begin] = await session.eventsOf('agent.wait.begin');
      await worker.stop();
      const due = Date.parse(begin?.at ?? '') + 10_000;
      await sleep(due + 1_000 - Date.now());
      await worker.run();
      const back = Date.now();
      const end = await eventually(async () => {
        const [event] = await session.eventsOf('agent.wait.end');
        if (event === undefined) throw new Error('the wait goes on');
        return event;
      });
      expect(end).toMatchObject({ timed_out: true, statuses: {} });
      expect(Date.parse(end.at)).toBeGreaterThanOrEqual(due);
      expect(Date.now() - back).toBeLessThan(15_000);
      gate.open();
      await session.untilFinal();
      expect(outputs(await session.items(), 'wait')).toEqual([
        { status: {}, timed_out: true },
        { status: { [session.idOf('default-1')]: { completed: 'late' } }, timed_out: false },
      ]);
    }));

  test('works the same when no workflow is kept in memory', () =>
    withOwnWorker({ maxCachedWorkflows: 0 }, async (worker) => {
      const session = await worker.start({
        limits: { max_threads: 1, when_full: 'queue' },
        session: { one_shot: true },
        script: lines({
          root: [spawn('one', 'two'), waitForAll, call('close_agent', { id: 'default-1' }), say('all done')],
          'default-1': [call('look'), say('one')],
          'default-2': [say('two')],
        }),
        tools: { look: () => 'a file' },
      });
      expect(await session.result()).toMatchObject({ status: 'completed', output: 'all done' });
      expect(lastOutput(await session.items(), 'wait').status).toEqual({
        [session.idOf('default-1')]: { completed: 'one' },
        [session.idOf('default-2')]: { completed: 'two' },
      });
    }));
});
