import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTimeSkipping } from '../support/time-skipping.ts';
import { call, lastOutput, lines, never, say, spawn } from './script.ts';
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

test('list_active_agents tells how long a final status has been there, whatever else has changed since, and holds each for active', async () => {
  const session = await worker.start({
    script: lines({
      root: [spawn('one', 'two', 'three'), say('ok'), call('list_active_agents'), say('listed')],
      'default-1': [say('done')],
      'default-2': [{ fail: { code: 'model_refused', message: 'no key' } }],
      'default-3': [never],
    }),
  });
  await session.untilFinal();
  await session.until('default-3', ({ waiting_for }) => waiting_for === 'model');
  await session.agent('default-3').signal('interrupt', { reason: 'enough' });
  for (const name of ['default-1', 'default-2', 'default-3']) await session.untilFinal(name);
  await environment.sleep(120_000);
  await session.agent('default-1').executeUpdate('set_note', { args: [{ note: 'still here' }] });
  await environment.sleep(60_000);
  await session.send('who is there?');
  await session.untilFinal('root', 2);

  const { agents } = lastOutput(await session.items(), 'list_active_agents');
  expect(agents).toMatchObject([
    { thread_id: session.idOf('default-1'), status: { completed: 'done' }, thread_note: 'still here' },
    { thread_id: session.idOf('default-2'), status: { errored: 'no key' } },
    { thread_id: session.idOf('default-3'), status: { interrupted: 'enough' } },
  ]);
  for (const { thread_id, status_duration_sec: age } of agents) {
    expect(age, thread_id).toBeGreaterThanOrEqual(179);
    expect(age, thread_id).toBeLessThan(240);
  }
  // The note is a change, of the agent and not of its status.
  const [noted, other] = agents.map(({ updated_at: at }: { updated_at: string }) => Date.parse(at));
  expect(noted - other).toBeGreaterThan(100_000);
});
