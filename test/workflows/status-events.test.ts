import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { call, type Line, lines, never, say, spawn, spawnAs, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

describe.concurrent('events', () => {
  test('that an agent was closed stands in its own stream, in that of its parent, and at the root', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('close_agent', { id: 'default-1' }), say('ok')],
        'default-1': [spawn('y'), waitForAll, say('middle')],
        'default-1/default-1': [say('leaf')],
      }),
    });
    await session.untilFinal();
    const told = async (where: string, of: string) => {
      const events = await session.eventsOf('agent.status', where);
      return events.filter((event) => event.receiver_id === session.idOf(of)).at(-1);
    };
    const closed = { status: 'shutdown', is_final: true };
    for (const where of ['default-1/default-1', 'default-1', 'root']) {
      await eventually(async () => expect(await told(where, 'default-1/default-1')).toMatchObject(closed));
    }
    expect(await told('default-1', 'default-1')).toMatchObject(closed);
    expect(await told('root', 'default-1')).toMatchObject(closed);
  });

  /** What the stream of an agent tells of one's status, one after the other. */
  const told = async (session: ScriptedSession, where: string, of: string) =>
    (await session.eventsOf('agent.status', where))
      .filter((event) => event.receiver_id === session.idOf(of))
      .map(({ status, is_final, text }) => [status, is_final, text]);

  test('tell once that an agent runs that waits in its first turn, and the tree shows that turn', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [spawn('y'), waitForAll, say('middle')],
        'default-1/default-1': [() => gate.opened.then(() => say('leaf'))],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'agents');
    await eventually(async () => {
      const { agents } = await session.tree();
      expect(agents.map(({ status, turn }) => [status, turn])).toEqual(Array(3).fill(['running', 1]));
    });
    gate.open();
    await session.untilFinal();
    const ends = (text: string) => [
      ['running', false, ''],
      ['completed', true, text],
    ];
    expect(await told(session, 'root', 'default-1')).toEqual(ends('middle'));
    expect(await told(session, 'root', 'default-1/default-1')).toEqual(ends('leaf'));
    expect(await told(session, 'default-1', 'default-1/default-1')).toEqual(ends('leaf'));
  });

  test('of an agent that has failed say that it runs again, and that it was shut down from there', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok')],
        // What fails gives no answer, so the script stays at this line.
        'default-1': [
          ({ turn }) =>
            turn === 2
              ? say('better now')
              : { fail: { code: 'model_refused', message: `no more in turn ${turn}` } },
        ],
        '*': [say('ok')],
      }),
    });
    await session.untilFinal('default-1');
    await session.send('again', 'default-1');
    await session.untilFinal('default-1', 2);
    await session.agent('default-1').signal('shutdown');
    const errored = ['errored', true, 'no more in turn 1'];
    const [running, again] = [
      ['running', false, ''],
      ['completed', true, 'better now'],
    ];
    const ends = [running, errored, running, again, ['shutdown', true, 'better now']];
    for (const where of ['default-1', 'root']) {
      await eventually(async () => expect(await told(session, where, 'default-1')).toEqual(ends));
    }
  });

  test.each([
    ['errored', { fail: { code: 'model_refused', message: 'no more' } }, 'no more'],
    ['interrupted', never, 'enough'],
  ] as const)(
    'of an agent that is shut down when it was %s keep the reason',
    async (status, line, reason) => {
      const session = await worker().start({
        script: lines({ root: [spawn('x'), say('ok')], 'default-1': [line as Line] }),
      });
      if (status === 'interrupted') {
        await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
        await session.agent('default-1').signal('interrupt', { reason });
      }
      await session.untilFinal('default-1');
      await session.agent('default-1').signal('shutdown');
      for (const where of ['default-1', 'root']) {
        await eventually(async () =>
          expect((await told(session, where, 'default-1')).slice(-2)).toEqual([
            [status, true, reason],
            ['shutdown', true, reason],
          ]),
        );
      }
    },
  );

  test('of an agent say that it runs, from its first turn on, to its parent and to the root', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [spawn('y'), waitForAll, say('middle')],
        'default-1/default-1': [say('leaf')],
      }),
    });
    await session.untilFinal();
    const told = async (where: string, of: string) => {
      const events = await session.eventsOf('agent.status', where);
      const told = events
        .filter((event) => event.receiver_id === session.idOf(of))
        .map(({ status }) => status);
      // One that waits says once more that it runs.
      return told.filter((status, index) => status !== told[index - 1]);
    };
    const whole = ['running', 'completed'];
    for (const [where, of] of [
      ['root', 'default-1'],
      ['root', 'default-1/default-1'],
      ['default-1', 'default-1/default-1'],
    ] as const) {
      await eventually(async () => expect(await told(where, of)).toEqual(whole));
    }
  });

  test('of one that stands in line say the same, once', async () => {
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [spawn('y'), waitForAll, say('middle')],
        'default-1/default-1': [say('leaf')],
      }),
    });
    await session.untilFinal();
    const told = async (where: string) => {
      const events = await session.eventsOf('agent.status', where);
      const own = events.filter((event) => event.receiver_id === session.idOf('default-1/default-1'));
      return own.map(({ status }) => status).filter((status) => status !== 'pending_init');
    };
    for (const where of ['root', 'default-1']) {
      await eventually(async () => expect(await told(where)).toEqual(['running', 'completed']));
    }
  });

  test('of a spawn say what the new agent has come to be', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawnAs('careful'), waitForAll, say('ok')],
        'careful-1': [say('done')],
      }),
      roles: { careful: { model: 'other', reasoning_effort: 'low' } },
    });
    await session.untilFinal();
    const [event] = await session.eventsOf('agent.spawn.end');
    expect(event).toMatchObject({
      receiver_id: session.idOf('careful-1'),
      prompt: 'x',
      effective: {
        role: 'careful',
        model: 'other',
        reasoning_effort: 'low',
        sandbox_mode: 'workspace-write',
        working_directory: '/tmp',
      },
    });
  });
});
