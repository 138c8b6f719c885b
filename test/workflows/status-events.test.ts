import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { call, lines, say, spawn, spawnAs, waitForAll } from './script.ts';
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
