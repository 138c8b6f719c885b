import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import type { Item } from '../../protocol/index.ts';
import { ended, restartRoot, resumeBelow, resumeRoot } from './client-requests.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { call, heard, lastOutput, lines, never, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

// Histories of megabytes take their time to replay.
vi.setConfig({ hookTimeout: 180_000 });
const worker = withWorker();

/** Nothing makes them smaller; one alone is a third of what a payload may hold. */
const LARGE = Array.from({ length: 9 }, () => randomBytes(375_000).toString('base64'));
let looks = 0;

test('a conversation of 4.5 MB comes back whole, and is forked whole', async () => {
  const session = await worker().start({
    tools: { look: () => LARGE[looks++ % LARGE.length] ?? '' },
    script: lines({
      root: [...LARGE.map(() => call('look')), say('done'), say('again'), forkContext, waitForAll, say('ok')],
      'default-1': [...Array.from({ length: LARGE.length + 2 }, () => say('')), say('forked')],
    }),
  });
  await session.untilFinal();
  const before = await session.items();
  expect(JSON.stringify(before).length).toBeGreaterThan(4_500_000);
  await session.agent().signal('shutdown');
  await ended(session);
  await resumeRoot(worker(), session);
  expect(same(await session.items(), before)).toBe(true);
  // In the history once, in parts.
  expect(await largeResults(session.id, 'read_items')).toBeLessThan(LARGE.length);
  await session.send('more');
  expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'again' });
  await session.send('fork');
  await session.untilFinal('root', 3);
  expect(lastOutput((await session.items()).slice(before.length), 'spawn_agent').items_carried).toBe(
    before.length + 3,
  );
  const forked = await session.items('default-1');
  expect(same(forked.slice(0, before.length), before)).toBe(true);
  expect(forked.at(-1)).toEqual({ type: 'assistant_message', text: 'forked' });
}, 180_000);

const forkContext = call('spawn_agent', { message: 'go on', fork_context: true });

/** A difference of megabytes is nothing to be shown. */
const same = (some: Item[], others: Item[]): boolean => JSON.stringify(some) === JSON.stringify(others);

async function largeResults(agent: string, activity: string): Promise<number> {
  const { events } = await worker().client.workflow.getHandle(agent).fetchHistory();
  return (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activity,
  ).length;
}

describe.concurrent('an agent that cannot be brought back', () => {
  test('ends with the reason, as errored, and can be tried again', async () => {
    const session = await worker().start({ script: lines({ root: [say('first'), say('second')] }) });
    await session.untilFinal();
    await session.agent().signal('shutdown');
    await ended(session);
    session.past('root', { gone: 'before' });
    await restartRoot(worker(), session);
    expect(await session.result()).toMatchObject({
      status: 'errored',
      output: expect.stringContaining('keeps'),
      code: 'agent_not_resumable',
    });
    expect(await session.status()).toMatchObject({
      status: 'errored',
      closed: true,
      message: expect.stringContaining('could not be brought back'),
    });
    session.past('root', {});
    await resumeRoot(worker(), session);
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'first', turn: 1 });
    await session.send('more');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'second' });
  });

  test('is told to the parent that resumes it, which waits for it no longer, and to the root', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { count: 'open', max_threads: 1 },
      tools: { look: () => gate.opened.then(() => 'seen') },
      script: lines({
        root: [
          spawn('a'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          call('look'),
          call('resume_agent', { id: 'default-1' }),
          () => call('wait', { ids: ['default-1'] }),
          say('waited'),
          say('not told again'),
        ],
        '*': [say('done')],
      }),
    });
    await ended(session, 'default-1');
    session.past('default-1', { gone: 'after' });
    gate.open();
    await session.untilFinal();
    const reason = expect.stringContaining('could not be brought back');
    // The wait may end with what it was before, and what has become of it then comes as a notice.
    await eventually(async () => {
      const { agents, slots } = await session.tree();
      expect(agents[1]).toMatchObject({ status: 'errored', message: reason, closed: true });
      expect(slots?.used).toBe(0);
    });
    expect(await session.status('default-1')).toMatchObject({ status: 'errored', message: reason });
    await session.send('and?');
    await session.untilFinal('root', 2);
    const items = session.asked().at(-1)?.items ?? [];
    const told = [
      ...heard(items).filter((text) => text.startsWith('notice:')),
      JSON.stringify(lastOutput(items, 'wait')),
    ].filter((text) => text.includes('could not be brought back'));
    expect(told).toHaveLength(1);
  });

  test('is told to the parent, too, when it was to go on from its conversation', async () => {
    const session = await worker().start({
      script: lines({
        root: [call('spawn_agent', { message: 'x', fork_context: true }), waitForAll, say('ok')],
        '*': [never],
      }),
    });
    session.past('root', { gone: 'before' });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: { errored: expect.stringContaining('could not be brought back') },
    });
    expect(heard(await session.items('default-1'))).toEqual(['x']);
    expect((await session.tree()).slots?.used).toBe(0);
    session.past('root', {});
    const { success, output } = await resumeBelow(session, 'default-1');
    expect(success).toBe(false);
    expect(output.error).toMatchObject({
      code: 'agent_not_resumable',
      hint: expect.stringContaining('Fork'),
    });
  });

  test('though it was ended from outside before it was back, it can be brought back', async () => {
    const session = await worker().start({ script: lines({ root: [say('first'), say('second')] }) });
    await session.untilFinal();
    await session.agent().signal('shutdown');
    await ended(session);
    const gate = new Gate();
    session.past('root', { held: gate.opened });
    await restartRoot(worker(), session);
    await eventually(async () => {
      const { unrestored } = await session.agent().query<{ unrestored?: object }>('snapshot');
      expect(unrestored).toBeDefined();
    });
    await session.agent().terminate('in the middle');
    gate.open();
    await resumeRoot(worker(), session);
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'first' });
    await session.send('more');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'second' });
  });
});

test('an agent whose workflow is cancelled before it is back ends at once', async () => {
  const session = await worker().start({ script: lines({ root: [say('first')] }) });
  await session.untilFinal();
  await session.agent().signal('shutdown');
  await ended(session);
  const gate = new Gate();
  session.past('root', { held: gate.opened });
  await restartRoot(worker(), session);
  await session.agent().cancel();
  expect(await session.result()).toMatchObject({
    status: 'errored',
    output: expect.stringContaining('cancelled'),
  });
  gate.open();
});
