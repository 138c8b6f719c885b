import { describe, expect, test } from 'vitest';
import { limitsSchema } from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { heard, lines, never, type Script, say, spawn, spawnAs, spawned, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const ONE_SHOT = { one_shot: true };

describe.concurrent('a one-shot root', () => {
  test('whose open child was closed, resumed and sent input is not over before the child has worked on that', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      limits: { count: 'open' },
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          ({ items }) => {
            const [id] = spawned(items);
            return {
              calls: [
                { name: 'close_agent', args: { id } },
                { name: 'resume_agent', args: { id } },
                { name: 'send_input', args: { id, message: 'three' } },
              ],
            };
          },
          say('not yet'),
          ({ items }) => say(`told: ${heard(items).at(-1)}`),
        ],
        'default-1': [say('one'), say('worked on three')],
      }),
    });
    const { status, output } = await session.result();
    expect(status).toBe('completed');
    expect(output).toMatch(/^told: .*worked on three/);
  });

  test('that is sent input with its last step takes that in a turn of its own', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: { one_shot: true },
      limits: { max_steps: 1 },
      script: lines({ root: [() => gate.opened.then(() => say('first')), say('second')] }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.send('steer');
    await eventually(async () => expect(await session.eventsOf('input.accepted')).toHaveLength(1));
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'second' });
    expect(await session.eventsOf('turn.failed')).toEqual([]);
  });

  test('closes by itself when it has answered, and keeps its status', async () => {
    const session = await worker().start({ session: ONE_SHOT, script: lines({ root: [say('done')] }) });
    expect(await session.result()).toEqual({
      agent_id: session.id,
      session_id: session.id,
      status: 'completed',
      output: 'done',
      usage: expect.objectContaining({ total_tokens: 15 }),
      closed: [session.id],
    });
    expect(await session.status()).toMatchObject({ status: 'completed', closed: true, message: 'done' });
  });

  test('settles though open agents hold slots, where those count', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      limits: { count: 'open' },
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], '*': [say('done')] }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
  });

  test('that answers while a child runs gets its result in one more turn', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('x'), say('I leave it to them'), ({ items }) => say(`told ${heard(items).length - 1}`)],
        'default-1': [() => gate.opened.then(() => say('found it'))],
      }),
    });
    const view = await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    expect(view).toMatchObject({ status: 'running', is_final: false, closed: false });
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'told 1' });
    expect((await session.eventsOf('turn.completed')).map(({ turn, message }) => [turn, message])).toEqual([
      [1, 'I leave it to them'],
      [2, 'told 1'],
    ]);
    expect(await session.status('default-1')).toMatchObject({
      status: 'completed',
      message: 'found it',
      closed: true,
    });
  });

  test('takes such turns until nothing runs any more, at any depth', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('one'), say('first'), spawn('two'), say('second'), say('third')],
        'default-1': [spawn('deeper'), say('I leave it to them')],
        'default-1/default-1': [() => gate.opened.then(() => say('deep'))],
        'default-2': [say('found it')],
      }),
    });
    await session.untilFinal('default-1');
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    gate.open();
    const result = await session.result();
    expect(result).toMatchObject({ status: 'completed', output: 'third' });
    expect(result.closed).toHaveLength(4);
    expect(result.closed.indexOf(session.idOf('default-1/default-1'))).toBeLessThan(
      result.closed.indexOf(session.idOf('default-1')),
    );
    expect(result.closed.at(-1)).toBe(session.id);
    for (const { status, closed } of (await session.tree()).agents) {
      expect([status, closed]).toEqual(['completed', true]);
    }
  });

  test('waits for an agent that is woken by the end of one below it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      limits: { wake_parent: true },
      script: lines({
        root: [spawn('x'), say('first'), ({ items }) => say(`told of ${heard(items).length - 1}`)],
        'default-1': [spawn('deeper'), say('I leave it to them'), say('woken')],
        'default-1/default-1': [() => gate.opened.then(() => say('deep'))],
      }),
    });
    await session.until('default-1', ({ is_final }) => is_final);
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'told of 2' });
    expect(await session.status('default-1')).toMatchObject({ turn: 2, message: 'woken', closed: true });
  });

  test('does not wait with wait_agents off: it closes what runs', async () => {
    const session = await worker().start({
      session: { one_shot: true, wait_agents: false },
      script: lines({
        root: [
          spawn('x'),
          async () => {
            await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
            return say('enough');
          },
        ],
        'default-1': [never],
      }),
    });
    expect(await session.result()).toMatchObject({
      status: 'completed',
      output: 'enough',
      closed: [session.idOf('default-1'), session.id],
    });
    expect(await session.status('default-1')).toMatchObject({ status: 'interrupted', closed: true });
  });

  /** One whose turn has failed while its child still works. */
  async function failed(more: Script = () => say('never asked for')) {
    const gate = new Gate();
    const fail = { code: 'model_refused', message: '401: no more' };
    const afterwards: Script = (seen) => (seen.turn === 1 ? { fail } : more(seen));
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('x'), afterwards, afterwards, afterwards],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    const view = await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    return { session, gate, view };
  }

  test('that fails runs until those below have settled, says so at once, and is errored then', async () => {
    const { session, gate, view } = await failed();
    expect(view).toMatchObject({ status: 'running', is_final: false, closed: false, turn: 1 });
    expect(await session.eventsOf('warning')).toMatchObject([
      { text: expect.stringContaining('401: no more') },
    ]);
    gate.open();
    expect(await session.result()).toMatchObject({
      status: 'errored',
      code: 'model_refused',
      output: '401: no more',
    });
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', closed: true });
    expect(await session.eventsOf('turn.failed')).toMatchObject([{ turn: 1, code: 'model_refused' }]);
    const own = (await session.eventsOf('agent.status')).filter(
      ({ receiver_id }) => receiver_id === session.id,
    );
    expect(own.map(({ status }) => status)).toEqual(['running', 'errored']);
  });

  test('that has failed takes input meanwhile as another turn', async () => {
    const { session, gate } = await failed(({ items }) => say(`heard ${heard(items).at(-1)}`));
    await session.send('try again');
    await session.until('root', ({ turn, waiting_for }) => turn === 2 && waiting_for === 'agents');
    gate.open();
    expect(await session.result()).toMatchObject({
      status: 'completed',
      output: expect.stringMatching(/^heard notice: agent .*done$/),
    });
    expect(await session.eventsOf('turn.failed')).toMatchObject([{ turn: 1 }]);
  });

  test('that has failed may be interrupted with those below it, and stays open', async () => {
    const { session } = await failed(() => say('done after all'));
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted' });
    const view = await session.untilFinal();
    expect(view).toMatchObject({ status: 'interrupted', closed: false });
    expect(view.message).toMatch(/^enough .*401: no more/);
    await session.send('go on');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'done after all' });
  });

  test('that has failed may be closed with those below it, and keeps its reason', async () => {
    const { session } = await failed();
    await session.agent().signal('shutdown');
    expect(await session.result()).toMatchObject({ status: 'shutdown', output: '401: no more' });
  });

  test('that a limit has ended waits for those below without it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      limits: { max_wall_ms: 3_000 },
      roles: { free: { limits: limitsSchema.parse({}) } },
      script: lines({
        root: [spawnAs('free'), never],
        'free-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'errored', code: 'limit_wall' });
    expect(await session.status('free-1')).toMatchObject({ status: 'completed' });
  });

  test('whose turns are used up waits for those below, too', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      limits: { max_turns: 1, interrupt_descendants: false },
      script: lines({
        root: [spawn('x'), never],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', ({ step, waiting_for }) => step === 2 && waiting_for === 'model');
    await session.send({ message: 'rather this', interrupt: true });
    const view = await session.until(
      'root',
      ({ turn, waiting_for }) => turn === 2 && waiting_for === 'agents',
    );
    expect(view).toMatchObject({ status: 'running', is_final: false });
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'errored', code: 'limit_turns' });
  });

  test('has all of its time for each of its turns', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      limits: { max_wall_ms: 77_000 },
      script: lines({
        root: [spawn('x'), say('first'), say('second')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    gate.open();
    await session.result();
    const { events } = await session.agent().fetchHistory();
    const clocks = events?.flatMap(({ timerStartedEventAttributes: timer }) =>
      Number(timer?.startToFireTimeout?.seconds) === 77 ? [timer?.timerId] : [],
    );
    expect(clocks).toHaveLength(2);
  });

  test('that was interrupted stays open for input, and then settles', async () => {
    const session = await worker().start({
      session: ONE_SHOT,
      script: ({ turn }) => (turn === 1 ? never() : say('done after all')),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.agent().signal('interrupt');
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', closed: false });
    await session.send('go on');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'done after all' });
  });

  test('takes input while it waits for those below', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('x'), say('first'), ({ items }) => say(`heard ${heard(items).at(-1)}`), say('last')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await session.send('still there?');
    await session.until('root', ({ turn, waiting_for }) => turn === 2 && waiting_for === 'agents');
    gate.open();
    expect(await session.result()).toMatchObject({ output: 'last' });
    expect((await session.eventsOf('turn.completed')).map(({ message }) => message)).toEqual([
      'first',
      'heard still there?',
      'last',
    ]);
  });

  test('interrupted while it waits for those below interrupts them, and stays open', async () => {
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('x'), say('first'), say('second')],
        'default-1': [never],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await session.agent().signal('interrupt', 'not an object');
    await session.agent().signal('interrupt');
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted' });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', closed: false });
    await session.send('go on');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'second' });
  });

  test('tells the end of each turn below it once, though all are closed at the end', async () => {
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({
        root: [spawn('x'), waitForAll, say('done')],
        'default-1': [spawn('deeper'), waitForAll, say('report')],
        'default-1/default-1': [say('deep report')],
      }),
    });
    await session.result();
    const final = (await session.eventsOf('agent.status')).filter(({ is_final }) => is_final);
    expect(final.map(({ receiver_id, text }) => [receiver_id, text])).toEqual([
      [session.idOf('default-1/default-1'), 'deep report'],
      [session.idOf('default-1'), 'report'],
      [session.id, 'done'],
    ]);
  });

  test('adds up the tokens of its session', async () => {
    const session = await worker().start({
      session: ONE_SHOT,
      script: lines({ root: [spawn('one', 'two'), waitForAll, say('done')], '*': [say('report')] }),
    });
    expect((await session.result()).usage.total_tokens).toBe(5 * 15);
  });
});
