import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApprovalNeed } from '../../protocol/index.ts';
import { openTimeSkipping } from '../support/time-skipping.ts';
import { call, lastOutput, lines, say, spawn, wait } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { expectSoundHistories } from './with-worker.ts';

let environment: TestWorkflowEnvironment;
let worker: ScriptedWorker;

beforeAll(async () => {
  environment = await openTimeSkipping();
  worker = new ScriptedWorker({ native: environment.nativeConnection, client: environment.connection });
  await worker.run();
});
afterAll(async () => {
  await worker.stop();
  await expectSoundHistories(worker);
  await environment.teardown();
});

/** What nobody answers here, so that the second child never comes to an end. */
const need: ApprovalNeed = { kind: 'command', summary: 'act', reason: 'the policy is untrusted', key: 'act' };

/** Waits for both children, and lets the time pass until the wait is over. */
async function waited(args: object, passes: number, limits: object = {}) {
  const session = await worker.start({
    limits,
    tools: { act: () => ({ output: '', success: false, needs_approval: need }) },
    script: lines({
      root: [spawn('one'), wait(['default-1']), spawn('two'), wait(['default-2'], args), say('ok')],
      'default-1': [say('done')],
      'default-2': [call('act')],
    }),
  });
  await session.until('root', ({ waiting_for, step }) => waiting_for === 'agents' && step === 4);
  await environment.sleep(passes);
  await session.untilFinal();
  return { session, output: lastOutput(await session.items(), 'wait'), took: await lastWaitTook(session) };
}

async function lastWaitTook(session: ScriptedSession): Promise<number> {
  const begin = (await session.eventsOf('agent.wait.begin')).at(-1);
  const end = (await session.eventsOf('agent.wait.end')).at(-1);
  return Date.parse(end?.at ?? '') - Date.parse(begin?.at ?? '');
}

const about = (ms: number) => expect.closeTo(ms, -4);

test('a wait that is timed out is a value, and for any it holds no agent', async () => {
  const { output, took } = await waited({ timeout_ms: 60_000 }, 70_000);
  expect(output).toEqual({ status: {}, timed_out: true });
  expect(took).toEqual(about(60_000));
});

test('a wait for all that is timed out holds those that are final', async () => {
  const { session, output } = await waited(
    { ids: ['default-1', 'default-2'], mode: 'all', timeout_ms: 60_000 },
    70_000,
  );
  expect(Object.values(output.status)).toEqual([{ completed: 'done' }]);
  expect(output.timed_out).toBe(true);
  const begin = (await session.eventsOf('agent.wait.begin')).at(-1);
  expect(begin).toMatchObject({
    sender_id: session.id,
    receiver_ids: [session.idOf('default-1'), session.idOf('default-2')],
  });
  expect((await session.eventsOf('agent.wait.end')).at(-1)).toMatchObject({
    call_id: begin?.call_id,
    sender_id: session.id,
    statuses: { [session.idOf('default-1')]: { completed: 'done' } },
    timed_out: true,
  });
});

test('a wait without a time takes the default', async () => {
  const { output, took } = await waited({}, 310_000);
  expect(output.timed_out).toBe(true);
  expect(took).toEqual(about(300_000));
});

test('with the default limits a wait takes no less than ten seconds, and no more than half an hour', async () => {
  const short = await waited({ timeout_ms: 1 }, 30_000);
  expect(short.output).toEqual({ status: {}, timed_out: true });
  expect(short.took).toEqual(about(10_000));
  const long = await waited({ timeout_ms: 999_999_999 }, 1_830_000);
  expect(long.output).toEqual({ status: {}, timed_out: true });
  expect(long.took).toEqual(about(1_800_000));
});

test('a shorter time is clamped to the least, a longer one to the most', async () => {
  const limits = { wait_min_ms: 40_000, wait_max_ms: 900_000 };
  expect((await waited({ timeout_ms: 1 }, 50_000, limits)).took).toEqual(about(40_000));
  expect((await waited({ timeout_ms: 999_999_999 }, 910_000, limits)).took).toEqual(about(900_000));
});
