import { expect, test } from 'vitest';
import { Gate } from './gate.ts';
import { lastOutput, lines, outputs, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

test('twelve agents work at the same time by default, and the one after them is refused', async () => {
  const all = new Gate();
  let working = 0;
  const session = await worker().start({
    script: lines({
      root: [spawn(...Array.from({ length: 13 }, (_, n) => `task ${n}`)), waitForAll, say('ok')],
      '*': [
        async () => {
          // None comes to its end before all twelve have begun.
          if (++working === 12) all.open();
          await all.opened;
          return say('done');
        },
      ],
    }),
  });
  await session.untilFinal();
  const items = await session.items();
  const refused = outputs(items, 'spawn_agent').flatMap(({ error }) => error ?? []);
  expect(refused).toMatchObject([
    { code: 'limit_threads', message: expect.stringContaining('agents.max_threads') },
  ]);
  expect(Object.values(lastOutput(items, 'wait').status)).toEqual(Array(12).fill({ completed: 'done' }));
  expect((await session.tree()).slots).toEqual({ used: 0, max: 12 });
});
