import { describe, expect, test } from 'vitest';
import { Gate } from './gate.ts';
import { call, heard, lastOutput, lines, never, say, spawn, wait, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const notices = async (session: ScriptedSession, name = 'root') =>
  heard(await session.items(name)).filter((text) => text.startsWith('notice: agent'));

describe.concurrent("the end of a child's turn", () => {
  test('is told to the parent before its next model call, once', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          { calls: [{ name: 'spawn_agent', args: { message: 'x' }, id: 'call_7' }] },
          () => gate.opened.then(() => call('look')),
          call('look'),
          say('ok'),
        ],
        'default-1': [say('found it')],
      }),
      tools: { look: () => 'a file' },
    });
    await session.untilFinal('default-1');
    gate.open();
    await session.untilFinal();
    const [notice, ...more] = await notices(session);
    expect(more).toEqual([]);
    expect(notice).toMatch(
      new RegExp(
        `^notice: agent default \\(${session.idOf('default-1')}\\) \\[call_7\\] completed in \\d+s: found it$`,
      ),
    );
    expect(heard(session.asked()[2]?.items ?? [])).toContain(notice);
    const statuses = (await session.eventsOf('agent.status')).filter(
      ({ receiver_id }) => receiver_id !== session.id,
    );
    expect(statuses.at(-1)).toMatchObject({ status: 'completed', is_final: true, text: 'found it' });
  });

  test('is not told again where a wait has returned it', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('one', 'two'), waitForAll, call('look'), say('ok')],
        '*': [say('done')],
      }),
      tools: { look: () => 'a file' },
    });
    await session.untilFinal();
    expect(await notices(session)).toEqual([]);
  });

  test('is told where a wait has returned another one', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('one', 'two'),
          async () => {
            await session.untilFinal('default-1');
            await session.untilFinal('default-2');
            return wait(['default-2']);
          },
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const told = await notices(session);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(session.idOf('default-1'));
  });

  test('is not told any more where the child was closed', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          async () => {
            await session.untilFinal('default-1');
            return call('close_agent', { id: 'default-1' });
          },
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(await notices(session)).toEqual([]);
  });

  test('is told once for each of its turns, whatever the end', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok'), say('so that is that')],
        'default-1': [say('first'), { fail: { code: 'model_refused', message: 'no more' } }, never],
      }),
    });
    await session.untilFinal('root');
    await session.untilFinal('default-1');
    await session.send('again', 'default-1');
    await session.untilFinal('default-1', 2);
    // A failed call gives no answer, so the script is at the same line once more.
    await session.agent('default-1').executeUpdate('set_note', { args: [{ note: 'still here' }] });
    await session.send('and now?');
    await session.untilFinal('root', 2);
    const told = await notices(session);
    expect(told.map((text) => text.replace(/.*\] (\w+) in \d+s: /, '$1 '))).toEqual([
      'completed first',
      'errored no more',
    ]);
  });

  test('is told once for each of its turns, also where its next input waits already', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok'), say('so that is that')],
        // What fails or is interrupted gives no answer, so the script stays at this line.
        'default-1': [
          async ({ turn }) => {
            if (turn === 3) return say('at last');
            if (turn === 2) return never();
            await gate.opened;
            return { fail: { code: 'model_refused', message: 'no more' } };
          },
        ],
      }),
    });
    await session.untilFinal();
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.send('more', 'default-1');
    gate.open();
    await session.until('default-1', ({ turn, waiting_for }) => turn === 2 && waiting_for === 'model');
    await session.send({ message: 'rather this', interrupt: true }, 'default-1');
    await session.untilFinal('default-1', 3);
    await session.send('and now?');
    await session.untilFinal('root', 2);
    const expected = ['errored no more', 'interrupted interrupted by new input', 'completed at last'];
    expect((await notices(session)).map((text) => text.replace(/.*\] (\w+) in \d+s: /, '$1 '))).toEqual(
      expected,
    );
    const ends = (await session.eventsOf('agent.status')).filter(
      ({ receiver_id, is_final }) => receiver_id !== session.id && is_final,
    );
    expect(ends.map(({ status, text }) => `${status} ${text}`)).toEqual(expected);
  });

  test('is told, too, where a wait has gone on to the end of the turn after it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('look'), say('ok')],
        'default-1': [
          async ({ turn }) => {
            if (turn === 2) return say('second');
            await gate.opened;
            return { fail: { code: 'model_refused', message: 'no more' } };
          },
        ],
      }),
      tools: { look: () => 'a file' },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.send('more', 'default-1');
    gate.open();
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: { completed: 'second' },
    });
    const told = await notices(session);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/errored in \d+s: no more$/);
  });

  test('is told where somebody else has closed it in the middle of a turn', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), say('ok'), say('I see')], 'default-1': [never] }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.untilFinal();
    await session.agent('default-1').executeUpdate('shutdown', { args: [{ reason: 'not needed' }] });
    await session.agent('default-1').result();
    await session.send('how is it?');
    await session.untilFinal('root', 2);
    expect((await notices(session)).join()).toMatch(/interrupted in \d+s: not needed$/);
  });

  test('is not told where it was cut off by the agent itself that closes it', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          async () => {
            await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
            return call('close_agent', { id: 'default-1' });
          },
          say('ok'),
        ],
        'default-1': [never],
      }),
    });
    await session.untilFinal();
    expect(await notices(session)).toEqual([]);
  });

  test.each(['wait', 'close_agent'])('is told, though a program has learnt it by %s', async (tool) => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), say('ok'), say('I see')], 'default-1': [say('done')] }),
    });
    await session.untilFinal();
    await session.untilFinal('default-1');
    const args = tool === 'wait' ? { ids: ['default-1'] } : { id: 'default-1' };
    const { output } = await session.outcomeOf(await session.call(tool, args));
    expect(output).toContain('{"completed":"done"}');
    await session.send('how is it?');
    await session.untilFinal('root', 2);
    expect((await notices(session)).join()).toMatch(/completed in \d+s: done$/);
  });

  test('is told where somebody interrupted it', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok'), say('I see')],
        'default-1': [never],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.untilFinal();
    await session.agent('default-1').signal('interrupt', { reason: 'too slow' });
    await session.untilFinal('default-1');
    await session.send('how is it?');
    await session.untilFinal('root', 2);
    expect((await notices(session)).join()).toMatch(/interrupted in \d+s: too slow$/);
  });

  test('waits in an idle parent for its next input', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok'), say('I see')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    gate.open();
    await session.untilFinal('default-1');
    await session.send('how is it?');
    await session.untilFinal('root', 2);
    expect(heard(await session.items()).map((text) => text.slice(0, 13))).toEqual([
      'the task',
      'notice: agent',
      'how is it?',
    ]);
  });

  test('wakes an idle parent that has to stand in line for a slot first', async () => {
    const [left, right, again] = [new Gate(), new Gate(), new Gate()];
    const session = await worker().start({
      limits: { wake_parent: true, max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('left', 'right'), say('ok'), say('I see'), say('I see'), say('I see')],
        'default-1': [spawn('deeper'), say('later'), say('woken')],
        'default-2': [
          () => right.opened.then(() => say('right')),
          () => again.opened.then(() => say('more')),
        ],
        'default-1/default-1': [() => left.opened.then(() => say('deep'))],
      }),
    });
    await session.until('default-1', ({ turn, is_final }) => turn === 1 && is_final);
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'model');
    right.open();
    await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.send('once more', 'default-2');
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
    left.open();
    const waiting = await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    expect(waiting).toMatchObject({ status: 'pending_init', is_final: false, queued: true });
    again.open();
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'woken' });
  });

  test('wakes an idle parent where agents.wake_parent says so', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { wake_parent: true },
      script: lines({
        root: [spawn('x'), say('ok'), say('I see')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    gate.open();
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'I see' });
    expect(await notices(session)).toHaveLength(1);
  });
});
