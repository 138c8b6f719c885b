import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { takeName, takeTurn } from '../../../activities/sandbox/machine-names.ts';

const unique = () => `cadre-test-${process.pid}-${Math.random()}`;

test('a turn is had by one at a time, in the order of asking, however the one before it ends', async () => {
  const name = unique();
  const had: number[] = [];
  let atOnce = 0;
  const work = async (index: number): Promise<void> => {
    const end = await takeTurn(name);
    try {
      atOnce++;
      had.push(index);
      expect(atOnce).toBe(1);
      await sleep(index % 3);
      if (index % 4 === 0) throw new Error('it went wrong');
    } finally {
      atOnce--;
      await end();
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => work(index)));
  expect(had).toEqual(Array.from({ length: 40 }, (_, index) => index));
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(10);
});

test.runIf(process.platform === 'linux')(
  'a turn that another process has is waited for, and an abort ends that for this one alone',
  async () => {
    const name = unique();
    const free = await takeName(name);
    const controller = new AbortController();
    const given = takeTurn(name, controller.signal);
    given.catch(() => {});
    const next = takeTurn(name);
    await sleep(50);
    controller.abort(new Error('interrupted'));
    await expect(given).rejects.toThrow('interrupted');
    await free();
    await (await next)();
  },
);
