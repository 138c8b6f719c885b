import { describe, expect, test } from 'vitest';
import { call, heard, lastOutput, lines, say, spawn, spawned, wait, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const OPEN_QUEUED = { max_threads: 1, count: 'open', when_full: 'queue' } as const;
const REFUSED = /The one slot for agents is taken .*open and idle: .*default-1.*close one that is done/i;

describe.concurrent('where open agents hold slots, and others queue', () => {
  test('parents that wait lend their slot to those below, down to the leaf, and go on afterwards', async () => {
    const below = (name: string) => ({ [name]: [spawn('deeper'), waitForAll, say(`done at ${name}`)] });
    const session = await worker().start({
      limits: OPEN_QUEUED,
      session: { one_shot: true },
      script: lines({
        ...below('root'),
        ...below('default-1'),
        ...below('default-1/default-1'),
        'default-1/default-1/default-1': [say('at the bottom')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'done at root' });
    const { agents } = await session.tree();
    expect(agents.map(({ status }) => status)).toEqual(Array(4).fill('completed'));
  });

  test('a parent that has ended its turn gives its slot to the child it has left in line', async () => {
    const session = await worker().start({
      limits: OPEN_QUEUED,
      session: { one_shot: true },
      script: lines({
        root: [spawn('one'), say('I leave it to them'), say('ok')],
        'default-1': [spawn('deeper'), say('it will do it')],
        'default-1/default-1': [say('done')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(await session.status('default-1/default-1')).toMatchObject({ status: 'completed' });
  });

  test('a one-shot root settles: one that waits for an idle sibling to close is refused, and its model told', async () => {
    const session = await worker().start({
      limits: OPEN_QUEUED,
      session: { one_shot: true },
      script: lines({
        root: [spawn('one', 'two'), say('I leave it to them'), ({ items }) => say(heard(items).at(-1) ?? '')],
        '*': [say('done')],
      }),
    });
    const { status, output } = await session.result();
    expect(status).toBe('completed');
    expect(output).toMatch(/default-2\) .*errored/);
    expect(output).toMatch(REFUSED);
    expect(session.asked('default-2')).toEqual([]);
    const [event] = await session.eventsOf('turn.failed', 'default-2');
    expect(event).toMatchObject({ code: 'limit_threads' });
    const warnings = (await session.eventsOf('warning')).map(({ text }) => text);
    expect(warnings).toEqual([expect.stringMatching(REFUSED)]);
    expect(warnings[0]).toContain(session.idOf('default-2'));
  });

  test('a root that waits for the one in line hears of it at once, closes an idle one, and sends its input again', async () => {
    const session = await worker().start({
      limits: OPEN_QUEUED,
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one', 'two'),
          ({ items }) => wait(spawned(items).slice(1)),
          call('close_agent', { id: 'default-1' }),
          call('send_input', { id: 'default-2', message: 'again' }),
          ({ items }) => wait(spawned(items).slice(1)),
          say('ok'),
        ],
        'default-1': [say('done')],
        'default-2': [({ items }) => say(`heard ${heard(items).length}`)],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(lastOutput(await session.items(), 'wait')).toMatchObject({
      status: { [session.idOf('default-2')]: { completed: 'heard 2' } },
    });
    const [first] = await session.eventsOf('agent.wait.end');
    expect(JSON.stringify(first)).toMatch(REFUSED);
  });

  test('an idle one that is closed in time makes way for the one in line', async () => {
    const session = await worker().start({
      limits: OPEN_QUEUED,
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one', 'two'),
          wait(['default-1']),
          call('close_agent', { id: 'default-1' }),
          wait(['default-2']),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(await session.status('default-2')).toMatchObject({ status: 'completed', message: 'done' });
    expect(await session.eventsOf('warning')).toEqual([]);
  });

  test('with no turn in progress a warning says what frees a slot, and the one in line waits for the person', async () => {
    const session = await worker().start({
      limits: OPEN_QUEUED,
      script: lines({
        root: [spawn('one', 'two'), say('ok'), call('close_agent', { id: 'default-1' }), say('closed')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    await expect.poll(() => session.eventsOf('warning'), { timeout: 30_000 }).toHaveLength(1);
    expect(await session.status('default-2')).toMatchObject({ status: 'pending_init', queued: true });
    await session.send('close it');
    expect(await session.untilFinal('default-2')).toMatchObject({ status: 'completed', message: 'done' });
    expect(await session.eventsOf('warning')).toHaveLength(1);
  });
});
