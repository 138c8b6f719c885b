import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { heard, lastOutput, lines, never, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

describe.concurrent('an agent that somebody terminates', () => {
  test('is errored for whoever waits for it, at once, and its slot is free again', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      limits: { max_threads: 1 },
      script: lines({
        root: [spawn('dies'), waitForAll, spawn('lives'), waitForAll, say('ok')],
        'default-1': [never],
        'default-2': [say('done')],
      }),
    });
    await session.until('default-1', (view) => view.waiting_for === 'model');
    await session.agent('default-1').terminate('by a person');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    const [first] = session.asked().slice(2);
    expect(lastOutput(first?.items ?? [], 'wait')).toMatchObject({
      status: { [session.idOf('default-1')]: { errored: expect.stringContaining('from outside') } },
      timed_out: false,
    });
  });

  test('is open again for the root as soon as it is resumed', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), say('ok')], '*': [say('done')] }),
    });
    await session.untilFinal();
    await session.untilFinal('default-1');
    await session.agent('default-1').terminate('by a person');
    const listed = async () => (await session.tree()).agents[1];
    await eventually(async () => expect(await listed()).toMatchObject({ status: 'errored', closed: true }));
    await session.outcomeOf(await session.call('resume_agent', { id: 'default-1' }));
    await eventually(async () =>
      expect(await listed()).toMatchObject({ status: 'completed', message: 'done', closed: false }),
    );
  });

  test('leaves nothing behind below it, and is told of once to a parent that does not wait', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('parent'), say('waiting'), say('ok')],
        'default-1': [spawn('leaf'), waitForAll, say('x')],
        'default-1/default-1': [never],
      }),
    });
    await session.until('default-1/default-1', (view) => view.waiting_for === 'model');
    await session.agent('default-1').terminate('by a person');
    await eventually(async () => {
      const { status } = await session.agent('default-1/default-1').describe();
      expect(status.name).toBe('TERMINATED');
    });
    await eventually(async () => expect((await session.tree()).slots?.used).toBe(0));
    await session.send('and now?');
    await session.untilFinal('root', 2);
    const notices = heard(session.asked().at(-1)?.items ?? []).filter((text) => text.startsWith('notice:'));
    expect(notices).toEqual([expect.stringContaining('errored')]);
  });
});
