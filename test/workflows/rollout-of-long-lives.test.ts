import { expect, test, vi } from 'vitest';
import type { AgentId } from '../../protocol/index.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { ended, resumeRoot } from './client-requests.ts';
import { eventually } from './eventually.ts';
import { PATIENCE } from './patience.ts';
import { call, lines, say } from './script.ts';
import { withShortRuns } from './with-short-runs.ts';

vi.setConfig({ testTimeout: 150_000 * PATIENCE });
const own = withShortRuns(40, { forgets: true });

test('a rollout has the events of every run and life, also those that Temporal keeps no longer', async () => {
  const rollouts = new Rollouts({ stateDir: own().home });
  const steps = (count: number) => Array.from({ length: count }, () => call('look'));
  const session = await own().worker.start({
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
  expect((await own().worker.runs(session.id)).length).toBeGreaterThan(3);
  await close();
  const first = await seqs();
  expect(first).toEqual(upTo(first.at(-1)));
  // What its newest run alone has begins later.
  expect((await session.events())[0]?.seq).toBeGreaterThan(1);

  await resumeRoot(own().worker, session);
  await session.send('again');
  await session.untilFinal('root', 2);
  await close();
  const second = await seqs();
  expect(second).toEqual(upTo(second.at(-1)));
  expect(second.length).toBeGreaterThan(first.length);

  const { runs } = await deleteOlderRuns(session.id);
  expect(runs).toBeGreaterThan(3);
  await resumeRoot(own().worker, session);
  await session.send('again');
  await session.untilFinal('root', 3);
  await close();
  const third = await seqs();
  expect(third).toEqual(upTo(third.at(-1)));
  expect(third.length).toBeGreaterThan(second.length);
});

/** As when retention has passed for all but the newest run. */
async function deleteOlderRuns(workflowId: AgentId) {
  const { workflowService, options, workflow } = own().worker.client;
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
