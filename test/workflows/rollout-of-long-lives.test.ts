import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentId } from '../../protocol/index.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { ensureServer, stopServer } from '../../server/index.ts';
import { ended, resumeRoot } from './client-requests.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { eventually } from './eventually.ts';
import { PATIENCE } from './patience.ts';
import { call, lines, say } from './script.ts';
import { ScriptedWorker } from './scripted-worker.ts';

vi.setConfig({ testTimeout: 150_000 * PATIENCE });
let home: string;
let connections: Connections;
let worker: ScriptedWorker;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'cadre-test-home-'));
  const { address } = await ensureServer({
    home,
    extraArgs: ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=40'],
  });
  connections = await connect(address);
  worker = new ScriptedWorker(connections);
  await worker.run();
});
afterAll(async () => {
  await worker.stop();
  await disconnect(connections);
  await stopServer(home);
  await rm(home, { recursive: true, force: true });
});

test('a rollout has the events of every run and life, also those that Temporal keeps no longer', async () => {
  const rollouts = new Rollouts({ stateDir: home });
  const steps = (count: number) => Array.from({ length: count }, () => call('look'));
  const session = await worker.start({
    tools: { look: () => 'x'.repeat(8_000) },
    script: lines({
      root: [...steps(30), say('first'), ...steps(10), say('second'), ...steps(30), say('third')],
    }),
    session: { rollout: true },
    rollouts,
  });
  const seqs = async () => {
    const found: number[] = [];
    const rollout = await rollouts.find(session.id);
    for await (const { seq } of rollout?.events(session.id) ?? []) found.push(seq);
    return found;
  };
  const close = async () => {
    await session.agent().signal('shutdown');
    await ended(session);
  };
  const upTo = (last: number | undefined) => Array.from({ length: last ?? 0 }, (_, index) => index + 1);

  await session.untilFinal();
  expect((await worker.runs(session.id)).length).toBeGreaterThan(3);
  await close();
  const first = await seqs();
  expect(first).toEqual(upTo(first.at(-1)));
  // What its newest run alone has begins later.
  expect((await session.events())[0]?.seq).toBeGreaterThan(1);

  await resumeRoot(worker, session);
  await session.send('again');
  await session.untilFinal('root', 2);
  await close();
  const second = await seqs();
  expect(second).toEqual(upTo(second.at(-1)));
  expect(second.length).toBeGreaterThan(first.length);

  const { runs } = await deleteOlderRuns(session.id);
  expect(runs).toBeGreaterThan(3);
  await resumeRoot(worker, session);
  await session.send('again');
  await session.untilFinal('root', 3);
  await close();
  const third = await seqs();
  expect(third).toEqual(upTo(third.at(-1)));
  expect(third.length).toBeGreaterThan(second.length);
});

/** As when retention has passed for all but the newest run. */
async function deleteOlderRuns(workflowId: AgentId) {
  const { workflowService, options, workflow } = worker.client;
  const { runId: newest } = await workflow.getHandle(workflowId).describe();
  const older = async () => {
    const ids: string[] = [];
    for await (const { runId } of workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
      if (runId !== newest) ids.push(runId);
    }
    return ids;
  };
  const ids = await older();
  for (const runId of ids) {
    await workflowService.deleteWorkflowExecution({
      namespace: options.namespace,
      workflowExecution: { workflowId, runId },
    });
  }
  await eventually(async () => expect(await older()).toEqual([]));
  return { runs: ids.length };
}
