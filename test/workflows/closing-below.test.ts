import { expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { call, lastOutput, lines, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

test('a sub-agent closes an agent below it with all below that, and nobody beside or above is closed', async () => {
  const session = await worker().start({
    script: lines({
      root: [spawn('one', 'two'), waitForAll, say('ok')],
      'default-1': [
        spawn('middle'),
        waitForAll,
        call('close_agent', { id: 'default-1/default-1' }),
        say('closed it'),
      ],
      'default-1/default-1': [spawn('leaf'), waitForAll, say('middle')],
      '*': [say('done')],
    }),
  });
  expect(await session.untilFinal()).toMatchObject({ status: 'completed' });
  expect(lastOutput(await session.items('default-1'), 'close_agent')).toEqual({
    status: { completed: 'middle' },
    closed: ['default-1/default-1/default-1', 'default-1/default-1'].map((name) => session.idOf(name)),
  });
  await eventually(async () => {
    const open = (await session.tree()).agents.filter(({ closed }) => !closed);
    expect(open.map(({ agent_id }) => agent_id)).toEqual(
      ['root', 'default-1', 'default-2'].map((name) => session.idOf(name)),
    );
  });
  expect(await session.status('default-1')).toMatchObject({ status: 'completed', message: 'closed it' });
});
