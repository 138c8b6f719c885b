import { setTimeout as sleep } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ApprovalsView } from '../../protocol/index.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { eventually } from './eventually.ts';
import { PATIENCE } from './patience.ts';
import { call, lines, never, type Script, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { expectSoundHistories } from './with-worker.ts';

vi.setConfig({ testTimeout: 90_000 * PATIENCE });

const { EventType } = temporal.api.enums.v1;
let connections: Connections;
beforeAll(async () => {
  connections = await connect();
});
afterAll(() => disconnect(connections));

/** A mail that comes to nothing. */
const nobodysAnswer = { type: 'slot_answer', answer: { request_id: 'nobody', outcome: 'granted' } };

/** What stands in the history from the acceptance of the last update on. */
async function afterUpdate(
  script: Script,
  ready: (session: ScriptedSession) => Promise<unknown>,
  update: [name: string, payload: object],
  together: boolean,
): Promise<string[]> {
  const worker = new ScriptedWorker(connections);
  await worker.run();
  const session = await worker.start({ script });
  await ready(session);
  await worker.stop();
  if (together) await session.agent().signal('_mail', [nobodysAnswer]);
  const [name, payload] = update;
  const answered = session.agent().executeUpdate(name, { args: [payload] });
  // Until the server holds both, nobody may ask for work.
  await sleep(1_000);
  await worker.run();
  await answered;
  await session.untilFinal();
  await worker.stop();
  await expectSoundHistories(worker);
  const { events = [] } = await session.agent().fetchHistory();
  const types = (events ?? []).map(({ eventType }) => EventType[eventType ?? 0] ?? '');
  return types.slice(types.lastIndexOf('EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED')).slice(0, 3);
}

test('a decision on a question that came with it', async () => {
  const worker = new ScriptedWorker(connections);
  await worker.run();
  const need = { kind: 'command', summary: 'x', reason: 'y', key: 'z' } as const;
  const session = await worker.start({
    tools: {
      act: ({ approved }) => (approved ? 'done' : { output: '', success: false, needs_approval: need }),
    },
    script: lines({ root: [spawn('child'), waitForAll, say('ok')], '*': [call('act'), say('done')] }),
  });
  const approval = await eventually(async () => {
    const { approvals } = await session.agent().query<ApprovalsView>('approvals');
    expect(approvals).toHaveLength(1);
    return approvals[0]?.approval_id;
  });
  await worker.stop();
  const decided = session.agent().executeUpdate('decide_approval', {
    args: [{ approval_id: approval, decision: 'approve' }],
  });
  await sleep(1_000);
  await worker.run();
  await decided;
  await session.untilFinal();
  await worker.stop();
  await expectSoundHistories(worker);
});

const idle = (session: ScriptedSession) => session.untilFinal();
const thinking = (session: ScriptedSession) => session.until('root', (view) => view.waiting_for === 'model');

describe('an update is answered before anything that it asks for, whatever comes with it', () => {
  test.each<[what: string, Script, typeof idle | typeof thinking, [string, object]]>([
    [
      'an operation of a client',
      lines({ root: [say('ok')] }),
      idle,
      ['_operate', { operation: 'call', tool: 'list_active_agents', arguments: '{}' }],
    ],
    ['an interrupt', lines({ root: [never] }), thinking, ['interrupt', { reason: 'x' }]],
    ['a closing', lines({ root: [never] }), thinking, ['shutdown', {}]],
  ])('%s', async (_, script, ready, update) => {
    const alone = await afterUpdate(script, ready, update, false);
    const together = await afterUpdate(script, ready, update, true);
    expect(together).toEqual(alone);
    expect(alone[1]).toBe('EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED');
  });
});
