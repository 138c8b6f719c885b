import { temporal } from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import type { ApprovalsView } from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { type Call, lines, outputs, say } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const spawnWith = (args: object): Call => ({ name: 'spawn_agent', args: { message: 'x', ...args } });
const { EVENT_TYPE_ACTIVITY_TASK_COMPLETED: COMPLETED } = temporal.api.enums.v1.EventType;

/** Waits until the root has read so many roles of others. */
const rolesRead = (session: ScriptedSession, count: number) =>
  eventually(async () => {
    const { events } = await session.agent().fetchHistory();
    // Its own role came before, and the answer of its model.
    expect(events?.filter((event) => event.eventType === COMPLETED)).toHaveLength(count + 2);
  });
const ids = async (session: ScriptedSession) =>
  outputs(await session.items(), 'spawn_agent').map(({ agent_id: id, error }) => id ?? error?.code);

describe.concurrent('agents that one answer asks for side by side', () => {
  test('are numbered in the order of the calls, whichever role is read first', async () => {
    const gate = new Gate();
    const session = await worker().start({
      beforeRole: ({ model }) => (model === 'slow' ? gate.opened : undefined),
      script: lines({
        root: [
          {
            calls: [
              spawnWith({ model: 'slow' }),
              spawnWith({ model: 'quick' }),
              spawnWith({ agent_type: 'poet' }),
              spawnWith({ model: 'slow', reasoning_effort: 'low' }),
            ],
          },
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await rolesRead(session, 2);
    gate.open();
    await session.untilFinal();
    const names = ['default-1', 'default-2', 'poet-1', 'default-3'];
    expect(await ids(session)).toEqual(names.map((name) => session.idOf(name)));
    const models = await Promise.all(names.map(async (name) => (await session.status(name)).model));
    expect(models).toEqual(['slow', 'quick', 'scripted', 'slow']);
  });

  test('do not wait for one that is refused, and it takes no number', async () => {
    const gate = new Gate();
    const session = await worker().start({
      beforeRole: ({ role }) => (role === 'nobody' || role === 'broken' ? gate.opened : undefined),
      script: lines({
        root: [
          {
            calls: [
              spawnWith({ agent_type: 'nobody' }),
              spawnWith({}),
              spawnWith({ agent_type: 'broken' }),
              spawnWith({ model: 'other' }),
            ],
          },
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await rolesRead(session, 2);
    gate.open();
    await session.untilFinal();
    expect(await ids(session)).toEqual([
      'unknown_role',
      session.idOf('default-1'),
      'internal',
      session.idOf('default-2'),
    ]);
  });

  test('do not wait for one that a person has to allow first', async () => {
    const session = await worker().start({
      script: lines({
        root: [{ calls: [spawnWith({ working_directory: '/elsewhere' }), spawnWith({})] }, say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal('default-1');
    const { approvals } = await session.agent().query<ApprovalsView>('approvals');
    expect(approvals).toHaveLength(1);
    await session.agent().executeUpdate('decide_approval', {
      args: [{ approval_id: approvals[0]?.approval_id, decision: 'approve' }],
    });
    await session.untilFinal();
    expect(await ids(session)).toEqual([session.idOf('default-2'), session.idOf('default-1')]);
  });

  test('are given up with their turn, and those that the next one asks for do not wait for them', async () => {
    const gate = new Gate();
    const session = await worker().start({
      beforeRole: ({ model }) => (model === 'slow' ? gate.opened : undefined),
      script: lines({
        root: [
          { calls: [spawnWith({ model: 'slow' }), spawnWith({})] },
          { calls: [spawnWith({}), spawnWith({ model: 'other' })] },
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await rolesRead(session, 1);
    await session.agent().signal('interrupt');
    await session.untilFinal();
    await session.send('again');
    await session.untilFinal('root', 2);
    gate.open();
    const started = ['default-1', 'default-2'].map((name) => session.idOf(name));
    expect(await ids(session)).toEqual([undefined, undefined, ...started]);
  });
});
