import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ended, resumeBelow, resumeRoot } from './client-requests.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { deepSession } from './deep-session.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { PATIENCE } from './patience.ts';
import { call, heard, lastOutput, lines, never, type Script, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { expectSoundHistories, withWorker } from './with-worker.ts';

const worker = withWorker();
const working = (session: ScriptedSession, name: string) =>
  session.until(name, (view) => view.waiting_for === 'model');
/** Never ends before it has heard that. */
const untilTold =
  (text: string): Script =>
  ({ items }) =>
    heard(items).includes(text) ? say('done') : never();
const slotsUsed = async (session: ScriptedSession) => (await session.tree()).slots?.used;
const closedInTree = async (session: ScriptedSession) =>
  (await session.tree()).agents.map(({ agent_id, closed }) => [agent_id, closed]);

describe.concurrent('a root that was ended from outside, and is resumed', () => {
  test('has nobody at work below it, and everybody that it shows as closed is closed', async () => {
    const session = await worker().start({
      limits: { max_threads: 2 },
      script: lines({
        root: [spawn('works', 'has worked'), waitForAll, say('ok')],
        'default-1': [spawn('deep'), waitForAll, say('x')],
        'default-1/default-1': [never],
        'default-2': [say('done')],
      }),
    });
    await working(session, 'default-1/default-1');
    await session.untilFinal('default-2');
    await session.agent().terminate('by a person');
    await resumeRoot(worker(), session);
    for (const name of ['default-1', 'default-1/default-1', 'default-2']) {
      expect(await ended(session, name)).toBe('TERMINATED');
    }
    expect(await closedInTree(session)).toEqual([
      [session.id, false],
      ...['default-1', 'default-2', 'default-1/default-1'].map((name) => [session.idOf(name), true]),
    ]);
    expect(await slotsUsed(session)).toBe(0);
  });

  test('can have back what was open below it, each once, and what they do counts again', async () => {
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [
          spawn('a'),
          (seen) => (heard(seen.items).includes('wait') ? waitForAll(seen) : never()),
          say('ok'),
        ],
        'default-1': [untilTold('go on')],
      }),
    });
    await working(session, 'default-1');
    await session.agent().terminate('by a person');
    await resumeRoot(worker(), session);
    const { output } = await resumeBelow(session, 'default-1');
    expect(output.resumed).toEqual([session.idOf('default-1')]);
    expect(await session.until('default-1', (view) => !view.closed)).toMatchObject({ status: 'interrupted' });
    await eventually(async () =>
      expect((await session.tree()).agents[1]).toMatchObject({ status: 'interrupted', closed: false }),
    );
    await session.send('go on', 'default-1');
    await session.untilFinal('default-1', 2);
    expect(await slotsUsed(session)).toBe(0);
    await session.send('wait');
    await session.untilFinal('root', 2);
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: { completed: 'done' },
    });
  });

  test('closes what it takes for closed and what still says something, which is no news to it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('a'), say('ok'), say('nothing')],
        'default-1': [() => gate.opened.then(() => say('unseen'))],
      }),
    });
    await session.untilFinal();
    await working(session, 'default-1');
    // As if it had been ended from outside.
    const lost = { kind: 'release', agent_id: session.idOf('default-1'), closed: true, life: 0 };
    await session.agent().signal('_mail', [{ type: 'slot', request: lost }]);
    await eventually(async () => expect((await closedInTree(session))[1]?.[1]).toBe(true));
    gate.open();
    expect(await ended(session, 'default-1')).toBe('COMPLETED');
    expect((await closedInTree(session))[1]?.[1]).toBe(true);
    expect(await slotsUsed(session)).toBe(0);
  });
});

test('a tree of three levels comes back whole after its root was ended from outside', async () => {
  const session = await deepSession(worker());
  await session.agent().terminate('by a person');
  await resumeRoot(worker(), session);
  const { output } = await resumeBelow(session, 'default-1', true);
  expect(output).toMatchObject({
    resumed: [session.idOf('default-1'), session.idOf('default-1/default-1')],
    not_resumed: [],
  });
});

describe.concurrent('an agent in the middle that was ended from outside', () => {
  test('comes back with what was open below it, and hears of it', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('middle'), waitForAll, say('lost it')],
        'default-1': [spawn('leaf'), waitForAll, waitForAll, say('heard it')],
        'default-1/default-1': [untilTold('go on')],
      }),
    });
    await working(session, 'default-1/default-1');
    await session.agent('default-1').terminate('by a person');
    await session.untilFinal();
    expect(await slotsUsed(session)).toBe(0);
    const { output } = await resumeBelow(session, 'default-1', true);
    expect(output).toEqual({
      status: { interrupted: 'the agent was ended from outside' },
      resumed: [session.idOf('default-1'), session.idOf('default-1/default-1')],
      not_resumed: [],
    });
    await session.until('default-1/default-1', (view) => !view.closed);
    await session.send('go on', 'default-1/default-1');
    await session.untilFinal('default-1/default-1', 2);
    await session.send('wait for it', 'default-1');
    await session.untilFinal('default-1', 2);
    expect(lastOutput(await session.items('default-1'), 'wait').status).toEqual({
      [session.idOf('default-1/default-1')]: { completed: 'done' },
    });
    expect(await slotsUsed(session)).toBe(0);
    // It was told of the end of that agent once, when it had happened.
    const root = heard(await session.items()).filter((text) => text.includes('ended from outside'));
    expect(root.length).toBeLessThanOrEqual(1);
  });

  test('hears of the end of one below it that was brought back by the root', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('middle'), waitForAll, say('ok')],
        'default-1': [
          spawn('leaf'),
          waitForAll,
          call('close_agent', { id: 'default-1/default-1' }),
          say('one'),
          waitForAll,
          say('two'),
        ],
        'default-1/default-1': [say('leaf'), never],
      }),
    });
    await session.untilFinal();
    await resumeBelow(session, 'default-1/default-1');
    await session.send('more', 'default-1/default-1');
    await working(session, 'default-1/default-1');
    await session.send('wait for it', 'default-1');
    await session.until('default-1', (view) => view.waiting_for === 'agents');
    await session.agent('default-1/default-1').terminate('by a person');
    await session.untilFinal('default-1', 2);
    expect(lastOutput(await session.items('default-1'), 'wait')).toMatchObject({
      status: { [session.idOf('default-1/default-1')]: { errored: 'ended from outside' } },
      timed_out: false,
    });
    expect(await slotsUsed(session)).toBe(0);
    const notices = heard(await session.items()).filter((text) => text.startsWith('notice:'));
    expect(notices.filter((text) => text.includes('ended from outside'))).toEqual([]);
  });
});

vi.setConfig({ testTimeout: 120_000 * PATIENCE });
let connections: Connections;
beforeAll(async () => {
  connections = await connect();
});
afterAll(() => disconnect(connections));

test('where a whole branch was ended at once, no slot is kept, and a one-shot root settles', async () => {
  const own = new ScriptedWorker(connections);
  await own.run();
  const session = await own.start({
    session: { one_shot: true },
    limits: { max_threads: 2 },
    script: lines({
      root: [spawn('middle'), say('started'), say('settled')],
      'default-1': [spawn('leaf'), never],
      'default-1/default-1': [never],
    }),
  });
  await working(session, 'default-1/default-1');
  await working(session, 'default-1');
  await own.stop();
  for (const name of ['default-1/default-1', 'default-1']) await session.agent(name).terminate('both');
  await own.run();
  expect(await session.result()).toMatchObject({ status: 'completed', output: 'settled' });
  expect(await slotsUsed(session)).toBe(0);
  await own.stop();
  await expectSoundHistories(own);
});
