import { describe, expect, test } from 'vitest';
import { REASON_MAX } from '../../protocol/index.ts';
import { deepSession } from './deep-session.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { call, heard, lastOutput, lines, never, outputs, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
/** Two seconds are promised; a busy machine gets more, but far less than any heartbeat would take. */
const WITHIN_MS = 8_000;

/** Interrupts, and measures on the agent's own clock how long it took to stop: the machine that polls may be slow. */
async function interrupted(session: ScriptedSession, name = 'root', payload?: unknown): Promise<number> {
  await session.agent(name).signal<unknown[]>('interrupt', ...(payload === undefined ? [] : [payload]));
  expect(await session.untilFinal(name)).toMatchObject({ status: 'interrupted' });
  const { events } = await session.agent(name).fetchHistory();
  const signal = events?.findLast(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'interrupt',
  );
  const [stopped] = await session.eventsOf('turn.interrupted', name);
  const { seconds, nanos } = signal?.eventTime ?? {};
  return Date.parse(stopped?.at ?? '') - Number(seconds) * 1_000 - Number(nanos) / 1e6;
}

// First, since these take the longest: a worker is taken for dead after fifteen seconds.
describe.concurrent('a tool whose worker dies', () => {
  test('and that has effects is not run again, and its outcome is told as unknown', async () => {
    let runs = 0;
    const session = await worker().start({
      script: lines({ root: [call('mute'), say('I shall look')] }),
      tools: {
        mute: () => {
          runs++;
          return never();
        },
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'I shall look' });
    expect(lastOutput(await session.items(), 'mute').error).toMatchObject({
      code: 'outcome_unknown',
      hint: 'Look at what is there before you try again.',
    });
    expect(runs).toBe(1);
  });

  test('and that only reads is run again', async () => {
    const gate = new Gate();
    let runs = 0;
    const session = await worker().start({
      script: lines({ root: [{ calls: [{ name: 'mute', effects: 'none' }] }, say('there it is')] }),
      tools: {
        mute: async () => {
          if (++runs === 1) await gate.opened;
          return 'a file';
        },
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'there it is' });
    expect(lastOutput(await session.items(), 'mute')).toBe('a file');
    expect(runs).toBe(2);
  });
});

describe.concurrent('an interrupt', () => {
  test('stops a model call soon, and is told to the model later', async () => {
    const session = await worker().start({
      script: ({ turn }) => (turn === 1 ? never() : say('as you like')),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    expect(await interrupted(session, 'root', { reason: 'too slow' })).toBeLessThan(WITHIN_MS);
    expect(await session.status()).toMatchObject({ message: 'too slow', turn: 1, closed: false });
    await session.send('go on');
    await session.untilFinal('root', 2);
    expect(heard(await session.items())).toEqual([
      'the task',
      'notice: The turn was interrupted: too slow',
      'go on',
    ]);
  });

  test('cancels the running tool, and runs none of those after it', async () => {
    let cancelled = false;
    const ran: unknown[] = [];
    const session = await worker().start({
      script: lines({ root: [{ calls: [1, 2].map((n) => ({ name: 'act', args: { n } })) }, say('I see')] }),
      tools: {
        act: ({ args, signal }) => {
          ran.push(args.n);
          signal.addEventListener('abort', () => {
            cancelled = true;
          });
          return never();
        },
      },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
    expect(await interrupted(session)).toBeLessThan(WITHIN_MS);
    expect(cancelled).toBe(true);
    expect(ran).toEqual([1]);
    expect(outputs(await session.items(), 'act')).toEqual([
      'The call was interrupted; what it had done until then stays done.',
      'The turn was interrupted before this call ran.',
    ]);
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'I see' });
  });

  test('does not wait for a tool that does not say that it has stopped', async () => {
    const session = await worker().start({
      script: lines({ root: [call('mute')] }),
      tools: { mute: never },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
    expect(await interrupted(session)).toBeLessThan(WITHIN_MS);
    expect(lastOutput(await session.items(), 'mute').error).toMatchObject({ code: 'outcome_unknown' });
  });

  test('keeps the output of a tool that ends all the same', async () => {
    const session = await worker().start({
      script: lines({ root: [call('mute')] }),
      tools: { mute: () => new Promise((resolve) => setTimeout(resolve, 700, 'done')) },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
    await interrupted(session);
    expect(lastOutput(await session.items(), 'mute')).toBe('done');
  });

  test('ends a wait', async () => {
    const session = await worker().start({
      limits: { interrupt_descendants: false },
      script: lines({ root: [spawn('x'), waitForAll], 'default-1': [never] }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    expect(await interrupted(session)).toBeLessThan(WITHIN_MS);
    expect(lastOutput(await session.items(), 'wait')).toContain('interrupted');
    expect(await session.eventsOf('agent.wait.end')).toMatchObject([{ statuses: {}, timed_out: false }]);
    expect(await session.status('default-1')).toMatchObject({ status: 'running' });
  });

  test('stops the turns of all agents below', async () => {
    const session = await deepSession(worker());
    expect(await interrupted(session, 'root', { reason: 'enough' })).toBeLessThan(WITHIN_MS);
    expect(await session.untilFinal('default-1')).toMatchObject({
      status: 'interrupted',
      message: `${session.id} was interrupted: enough`,
    });
    expect(await session.untilFinal('default-1/default-1')).toMatchObject({ status: 'interrupted' });
    await eventually(async () => expect((await session.tree()).slots?.used).toBe(0));
  });

  test('reaches all below, however long the reason is', async () => {
    const session = await deepSession(worker());
    await interrupted(session, 'root', { reason: 'x'.repeat(REASON_MAX) });
    for (const name of ['default-1', 'default-1/default-1']) {
      const { status, message } = await session.untilFinal(name);
      expect([status, message?.length]).toEqual(['interrupted', REASON_MAX]);
    }
  });

  test('ends the turn of an agent that waits for its slot, and what it waited for goes to others', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('one', 'two', 'three'), say('ok')],
        'default-1': [() => gate.opened.then(() => say('done'))],
        'default-2': [({ items }) => say(`heard ${heard(items).join(', ')}`)],
        'default-3': [say('done, too')],
      }),
    });
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
    await session.agent('default-2').executeUpdate('interrupt', { args: [{ reason: 'not now' }] });
    expect(await session.untilFinal('default-2')).toMatchObject({
      status: 'interrupted',
      message: 'not now',
      turn: 1,
    });
    expect((await session.status('default-2')).waiting_for).toBeUndefined();
    gate.open();
    expect(await session.untilFinal('default-3')).toMatchObject({ message: 'done, too' });
    await eventually(async () => expect((await session.tree()).slots?.used).toBe(0));
    expect(session.asked('default-2')).toEqual([]);
    await session.send('go on', 'default-2');
    expect(await session.untilFinal('default-2', 2)).toMatchObject({
      message: 'heard two, notice: The turn was interrupted: not now, go on',
    });
    const announced = heard(await session.items()).filter((text) => text.includes('not now'));
    expect(announced).toEqual([]);
  });

  test('with input for an agent that waits for its slot adds to what it is to do', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('one', 'two'), say('ok')],
        'default-1': [() => gate.opened.then(() => say('done'))],
        'default-2': [({ items }) => say(`heard ${heard(items).join(', ')}`)],
      }),
    });
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
    await session.send({ message: 'rather this', interrupt: true }, 'default-2');
    await eventually(async () =>
      expect(await session.eventsOf('input.accepted', 'default-2')).toHaveLength(1),
    );
    gate.open();
    expect(await session.untilFinal('default-2')).toMatchObject({
      message: 'heard two, rather this',
      turn: 1,
    });
  });

  test('ends the first turn of a session whose role is still being read, and its next one has it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      role: 'slow',
      roles: { slow: { model: 'another' } },
      beforeRole: () => gate.opened,
      script: lines({ root: [say('as you like')] }),
    });
    await interrupted(session, 'root', { reason: 'wrong task' });
    expect(await session.status()).toMatchObject({ turn: 1, message: 'wrong task' });
    await session.send('the right task');
    await session.until('root', (view) => !view.is_final);
    gate.open();
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'as you like', model: 'another' });
    expect(session.asked().map(({ turn }) => turn)).toEqual([2]);
  });

  test('passes through an agent that is idle', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), say('ok')], 'default-1': [never] }),
    });
    await session.untilFinal();
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.agent().signal('interrupt');
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted' });
    expect(await session.status()).toMatchObject({ status: 'completed', turn: 1 });
  });

  test('meant for an agent that was closed does not reach the next one of its role', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('old'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          spawn('new'),
          waitForAll,
          say('ok'),
        ],
        'default-1': [say('done')],
        'default-2': [never],
      }),
    });
    await session.until('default-2', (view) => view.waiting_for === 'model');
    await expect(session.agent('default-1').signal('interrupt')).rejects.toThrow(/completed|not found/);
    expect(await session.status('default-2')).toMatchObject({ status: 'running' });
    expect(await session.status('default-1')).toMatchObject({ status: 'shutdown', closed: true, turn: 1 });
    await session.agent().signal('shutdown');
    await session.until('root', (view) => view.closed);
  });

  test('stops the turn once, however often it comes', async () => {
    const session = await worker().start({ script: () => never() });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    const answers = await Promise.all([
      session.agent().executeUpdate('interrupt'),
      session.agent().executeUpdate('interrupt', { args: [{ reason: 'twice' }] }),
    ]);
    for (const answer of answers) expect(answer).toEqual({ submission_id: expect.any(String) });
    await session.untilFinal();
    expect(await session.eventsOf('turn.interrupted')).toHaveLength(1);
  });

  test('stops what has come before it, too, and not what comes after it', async () => {
    const session = await worker().start({
      script: lines({
        root: [({ items }) => (heard(items).length > 1 ? say('all of it') : never())],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.send('before');
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', turn: 1 });
    // It does not go on by itself.
    const items = await session.items();
    expect(heard(items)).toEqual(['the task', 'before', 'notice: The turn was interrupted: enough']);
    await session.send('after');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'all of it' });
    expect(heard(session.asked().at(-1)?.items ?? [])).toEqual([...heard(items), 'after']);
  });

  test('while a child is being started leaves it there, and known', async () => {
    const session = await worker().start({
      limits: { interrupt_descendants: false },
      script: lines({
        root: [call('spawn_agent', { message: 'x', agent_type: 'late' })],
        'late-1': [say('here I am')],
      }),
    });
    await eventually(async () => expect((await session.tree()).agents).toHaveLength(2));
    await interrupted(session);
    // On a busy machine the start may take longer than an interrupt waits for it.
    const output = JSON.stringify(lastOutput(await session.items(), 'spawn_agent'));
    expect(output).toContain(session.idOf('late-1'));
    expect(await session.untilFinal('late-1')).toMatchObject({ message: 'here I am' });
  });

  test('during calls to others at any moment fails no workflow task', async () => {
    const sessions = await Promise.all(
      [0, 5, 10, 15, 20, 30].map(async (delay) => {
        const session = await worker().start({
          script: lines({
            root: [spawn('busy', 'other'), say('ok')],
            'default-1': Array.from({ length: 30 }, () => ({
              calls: [
                { name: 'send_input', args: { id: 'default-2', message: 'x' } },
                { name: 'wait', args: { ids: ['default-2'] } },
              ],
            })),
            'default-2': Array.from({ length: 40 }, () => say('x')),
          }),
        });
        await session.until('default-1', ({ step }) => step > 1);
        await new Promise((resolve) => setTimeout(resolve, delay));
        return session;
      }),
    );
    await Promise.all(sessions.map((session) => session.agent('default-1').signal('interrupt')));
    for (const session of sessions) {
      expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted' });
    }
  });
});

describe.concurrent('an interrupt holds until there is input', () => {
  test.each([
    ['of a session that stays open', false],
    ['of a one-shot session, which stays open then', true],
  ])('in the whole tree %s, whatever those below say of their end', async (_name, one_shot) => {
    const session = await worker().start({
      session: { one_shot },
      limits: { wake_parent: true },
      script: lines({
        root: [spawn('x'), waitForAll, say('the root went on')],
        'default-1': [spawn('deeper'), waitForAll, say('the middle went on')],
        'default-1/default-1': [never],
      }),
    });
    await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'agents');
    await session.agent().signal('interrupt');
    const names = ['root', 'default-1', 'default-1/default-1'];
    for (const name of names) await session.untilFinal(name);
    // Whoever is woken says so within a moment; the leaf answers what is asked of it behind all that.
    await session.send('still there?', 'default-1/default-1');
    await session.until('default-1/default-1', ({ turn }) => turn === 2);
    for (const name of ['root', 'default-1']) {
      expect(await session.status(name)).toMatchObject({ status: 'interrupted', turn: 1, closed: false });
    }
  });

  test('and what children have said meanwhile comes with that input', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { wake_parent: true, interrupt_descendants: false },
      script: lines({
        root: [spawn('x'), ({ turn }) => (turn === 1 ? never() : say('heard'))],
        'default-1': [() => gate.opened.then(() => say('late'))],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.agent().signal('interrupt');
    await session.untilFinal();
    gate.open();
    await session.untilFinal('default-1');
    await eventually(async () => expect(await session.eventsOf('agent.status')).not.toEqual([]));
    expect(await session.status()).toMatchObject({ status: 'interrupted', turn: 1 });
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'heard' });
    expect(heard(await session.items()).some((text) => text.includes('late'))).toBe(true);
  });
});

describe.concurrent('an interrupt that an idle agent only passes on', () => {
  /** Three levels: root and child have ended their turns, the leaf works. */
  const idleAbove = async (one_shot = false) => {
    const session = await worker().start({
      session: { one_shot },
      limits: { wake_parent: true },
      script: lines({
        root: [spawn('x'), say('root is done'), say('the root went on'), say('and on')],
        'default-1': [spawn('deeper'), say('the middle is done'), say('the middle went on')],
        'default-1/default-1': [({ turn }) => (turn === 1 ? never() : say('still here'))],
      }),
    });
    await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.untilFinal('default-1');
    return session;
  };
  /** Whoever is woken says so within a moment; the leaf answers what is asked of it behind all that. */
  const untilLeafAnswers = async (session: ScriptedSession) => {
    await session.untilFinal('default-1/default-1');
    await session.send('still there?', 'default-1/default-1');
    await session.until('default-1/default-1', ({ turn }) => turn === 2);
  };

  test('wakes nobody above those that it stops', async () => {
    const session = await idleAbove();
    // The root is woken by the end of its child, once.
    await session.untilFinal('root', 2);
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal('default-1/default-1')).toMatchObject({ status: 'interrupted' });
    await eventually(async () => {
      const told = await session.eventsOf('agent.status', 'default-1');
      expect(told.some((event) => event.status === 'interrupted')).toBe(true);
    });
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', turn: 1 });
    expect(await session.status()).toMatchObject({ status: 'completed', turn: 2 });
    const views = (await session.tree()).agents;
    expect(views.map((view) => view.status)).toEqual(['completed', 'completed', 'interrupted']);
    await untilLeafAnswers(session);
    // That it has ended another turn is news: it brings what was held back with it.
    await session.untilFinal('default-1', 2);
    const told = heard(await session.items('default-1')).filter((text) => text.startsWith('notice: agent'));
    expect(told).toEqual([
      expect.stringMatching(/interrupted in .*: .* was interrupted: .* was interrupted: enough$/),
      expect.stringContaining('still here'),
    ]);
  });

  test('lets a one-shot root settle, which nobody else has to wake', async () => {
    const session = await idleAbove(true);
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await session.agent('default-1').signal('interrupt');
    expect(await session.result()).toMatchObject({ status: 'completed' });
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', turn: 1 });
    expect(await session.status('default-1/default-1')).toMatchObject({ status: 'interrupted' });
  });

  test('is no other one because it bears the same reason: a person’s, further down, is news for the parent', async () => {
    const session = await idleAbove();
    await session.untilFinal('root', 2);
    const reason = `${session.idOf('default-1')} was interrupted: enough`;
    await session.agent('default-1/default-1').signal('interrupt', { reason });
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'the middle went on' });
  });

  test('counts as passed on only where it comes from the parent', async () => {
    const session = await idleAbove();
    await session.untilFinal('root', 2);
    await session.agent('default-1/default-1').signal('interrupt', { from: session.id });
    await session.untilFinal('default-1', 2);
  });
});
