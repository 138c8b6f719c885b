import { describe, expect, test } from 'vitest';
import { Gate } from './gate.ts';
import {
  call,
  heard,
  lastOutput,
  lines,
  never,
  outputs,
  type Seen,
  say,
  spawn,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const kinds = (items: Seen['items']) => items.map((item) => item.type);

describe.concurrent('input to a running agent', () => {
  test('comes before its next model call, after the outputs of its tools', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          { calls: [{ name: 'look' }, { name: 'act' }] },
          ({ items }) => say(`heard ${heard(items).at(-1)}`),
        ],
      }),
      tools: { look: () => gate.opened.then(() => 'a file'), act: () => 'done' },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
    await session.send({ message: 'mind the dog' });
    gate.open();
    expect(await session.untilFinal()).toMatchObject({ message: 'heard mind the dog', turn: 1, step: 2 });
    const items = await session.items();
    expect(kinds(items)).toEqual([
      'user_message',
      'assistant_message',
      'tool_call',
      'tool_call',
      'tool_output',
      'tool_output',
      'user_message',
      'assistant_message',
    ]);
    expect([lastOutput(items, 'look'), lastOutput(items, 'act')]).toEqual(['a file', 'done']);
  });

  test('that comes while the model answers is worked on in the same turn', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          () => gate.opened.then(() => say('hello')),
          ({ items }) => say(`heard ${heard(items).at(-1)}`),
        ],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.send('louder');
    gate.open();
    const view = await session.until('root', ({ step, is_final }) => step === 2 && is_final);
    expect(view).toMatchObject({ message: 'heard louder', turn: 1 });
    expect((await session.eventsOf('turn.completed')).map(({ message }) => message)).toEqual([
      'heard louder',
    ]);
  });

  test('with interrupt stops its turn and starts another one', async () => {
    const session = await worker().start({
      script: ({ items, turn }) => (turn === 1 ? never() : say(`heard ${heard(items).at(-1)}`)),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.send({ message: 'rather this', interrupt: true });
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'heard rather this', turn: 2 });
    expect(heard(await session.items())).toEqual([
      'the task',
      'notice: The turn was interrupted: interrupted by new input',
      'rather this',
    ]);
    expect(await session.eventsOf('turn.interrupted')).toMatchObject([{ turn: 1 }]);
  });
});

describe.concurrent('input to an idle agent', () => {
  test('starts a turn', async () => {
    const session = await worker().start({ script: lines({ root: [say('one'), say('two')] }) });
    await session.untilFinal();
    await session.send('and now');
    expect(await session.untilFinal('root', 2)).toMatchObject({
      status: 'completed',
      message: 'two',
      step: 1,
    });
  });

  test('with interrupt starts a turn that is not interrupted', async () => {
    const session = await worker().start({ script: lines({ root: [say('one'), say('two')] }) });
    await session.untilFinal();
    await session.send({ message: 'and now', interrupt: true });
    expect(await session.untilFinal('root', 2)).toMatchObject({ status: 'completed', message: 'two' });
    expect(await session.eventsOf('turn.interrupted')).toEqual([]);
  });
});

describe.concurrent('an input', () => {
  test('is delivered once, however often its id comes', async () => {
    const session = await worker().start({ script: ({ items }) => say(`heard ${heard(items).length}`) });
    await session.untilFinal();
    const payload = { message: 'just once', id: 'the-same' };
    await session.send(payload);
    await session.untilFinal('root', 2);
    await session.send(payload);
    const answer = await session.agent().executeUpdate('send_input', { args: [payload] });
    expect(answer).toEqual({ submission_id: 'the-same' });
    await session.send({ message: 'the end', id: 'another' });
    await session.untilFinal('root', 3);
    expect(heard(await session.items())).toEqual(['the task', 'just once', 'the end']);
    const accepted = await session.eventsOf('input.accepted');
    expect(accepted.map(({ submission_id }) => submission_id)).toEqual(['the-same', 'another']);
  });

  test('may be a bare text, or a list of parts', async () => {
    const session = await worker().start({ script: ({ turn }) => say(`turn ${turn}`) });
    await session.untilFinal();
    await session.send('bare');
    await session.untilFinal('root', 2);
    const items = [
      { type: 'text', text: 'look at' },
      { type: 'local_image', path: '/tmp/a.png' },
    ];
    await session.send({ items });
    await session.untilFinal('root', 3);
    const messages = (await session.items()).filter((item) => item.type === 'user_message');
    expect(messages.slice(1)).toEqual([
      { type: 'user_message', content: [{ type: 'text', text: 'bare' }] },
      { type: 'user_message', content: items },
    ]);
  });

  test('that is sent as an update is answered with its submission id', async () => {
    const session = await worker().start({ script: ({ turn }) => say(`turn ${turn}`) });
    await session.untilFinal();
    const answers = await Promise.all(
      ['a', 'b'].map((message) => session.agent().executeUpdate('send_input', { args: [{ message }] })),
    );
    const accepted = await session.eventsOf('input.accepted');
    // Two requests at a time may arrive in either order.
    expect(new Set(answers)).toEqual(new Set(accepted.map(({ submission_id }) => ({ submission_id }))));
    expect(new Set(accepted.map(({ submission_id }) => submission_id)).size).toBe(2);
  });
});

describe.concurrent('an agent that sends input', () => {
  test('reaches its parent, its cousins and those far below, who are told whom it is from', async () => {
    const go = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          spawn('left', 'right'),
          () =>
            go.opened.then(() => call('send_input', { id: 'default-1/default-1', message: 'from above' })),
          say('sent'),
          ({ items }) => say(`heard ${heard(items).length}`),
        ],
        'default-1': [spawn('below'), waitForAll, say('left done')],
        'default-1/default-1': [say('below done'), ({ items }) => say(`heard ${heard(items).at(-1)}`)],
        'default-2': [
          async () => {
            await session.untilFinal('default-1');
            return call('send_input', { id: 'default-1/default-1', message: 'from a cousin' });
          },
          async () => {
            await session.untilFinal('default-1/default-1', 2);
            go.open();
            await session.untilFinal('root');
            return call('send_input', { id: session.id, message: 'from below' });
          },
          say('right done'),
        ],
      }),
    });
    await session.until('root', ({ turn, is_final }) => turn === 2 && is_final);
    const from = async (name: string) =>
      (await session.items(name)).flatMap((item) => (item.type === 'user_message' ? [item.from] : []));
    expect(await from('default-1/default-1')).toEqual([
      session.idOf('default-1'),
      session.idOf('default-2'),
      session.id,
    ]);
    expect(await from('root')).toEqual([undefined, session.idOf('default-2')]);
    const [begin] = await session.eventsOf('agent.input.begin', 'default-2');
    const [end] = await session.eventsOf('agent.input.end', 'default-2');
    expect(begin).toMatchObject({
      sender_id: session.idOf('default-2'),
      receiver_id: session.idOf('default-1/default-1'),
      prompt: 'from a cousin',
    });
    expect(end).toMatchObject({
      call_id: begin?.call_id,
      sender_id: session.idOf('default-2'),
      receiver_id: session.idOf('default-1/default-1'),
      prompt: 'from a cousin',
      status: expect.anything(),
    });
    expect(end).not.toHaveProperty('error');
    const [sent] = outputs(await session.items('default-2'), 'send_input');
    expect(sent).toEqual({ submission_id: expect.stringMatching(/./) });
  });

  test('may interrupt the receiver with it', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          async () => {
            await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
            return call('send_input', { id: 'default-1', message: 'rather this', interrupt: true });
          },
          wait(['default-1']),
          say('ok'),
        ],
        'default-1': [({ turn }) => (turn === 1 ? never() : say('this then'))],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: { completed: 'this then' },
    });
  });

  test('keeps no slot for one that takes no more signals', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', agent_type: 'full' }),
          waitForAll,
          call('send_input', { id: 'full-1', message: 'more' }),
          wait(['full-1']),
          say('ok'),
        ],
        'full-1': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'send_input').error.code).toBe('internal');
    expect(lastOutput(items, 'wait').status).toEqual({ [session.idOf('full-1')]: { completed: 'done' } });
    expect((await session.tree()).slots?.used).toBe(0);
  });

  test('with an interrupt is refused to whoever may not interrupt the receiver, and stops nobody', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('left', 'right'), waitForAll, say('ok')],
        'default-1': [
          () => call('send_input', { id: session.id, message: 'stop', interrupt: true }),
          call('send_input', { id: 'default-2', message: 'stop', interrupt: true }),
          say('done'),
        ],
        'default-2': [say('done')],
      }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    const errors = outputs(await session.items('default-1'), 'send_input').map(({ error }) => error?.code);
    expect(errors).toEqual(['not_permitted', 'not_permitted']);
    expect(await session.eventsOf('turn.interrupted')).toEqual([]);
  });

  test('is refused where there is no such agent, several, itself or one that is closed', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('left', 'right'),
          waitForAll,
          call('close_agent', { id: 'default-2' }),
          call('send_input', { id: 'nobody', message: 'x' }),
          call('send_input', { id: 'explorer-1', message: 'x' }),
          () => call('send_input', { id: session.id, message: 'x' }),
          call('send_input', { id: 'default-2', message: 'x' }),
          say('ok'),
        ],
        'default-1/explorer-1': [say('done')],
        'default-2/explorer-1': [say('done')],
        '*': [call('spawn_agent', { message: 'deeper', agent_type: 'explorer' }), waitForAll, say('done')],
      }),
    });
    await session.untilFinal();
    const errors = outputs(await session.items(), 'send_input').map(({ error }) => error);
    expect(errors.map(({ code }) => code)).toEqual([
      'agent_not_found',
      'agent_ambiguous',
      'not_permitted',
      'agent_closed',
    ]);
    expect(errors[0].hint).toContain(session.idOf('default-1'));
    expect(errors[3].hint).toContain('resume_agent');
    expect(errors[1].message).toContain(session.idOf('default-1/explorer-1'));
    expect(errors[1].message).toContain(session.idOf('default-2/explorer-1'));
  });
});

test('input of an agent that is not taken blocks neither its sender nor the slot that was reserved for it', async () => {
  const session = await worker().start({
    limits: { max_threads: 1 },
    script: lines({
      root: [
        spawn('one'),
        waitForAll,
        call('send_input', { id: 'default-1', items: [] }),
        wait(['default-1']),
        spawn('two'),
        ({ items }) => wait(spawned(items), { mode: 'all' }),
        say('ok'),
      ],
      '*': [say('done')],
    }),
  });
  expect(await session.untilFinal()).toMatchObject({ message: 'ok' });
  const [rejected] = await session.eventsOf('input.rejected', 'default-1');
  expect(rejected).toMatchObject({ signal: 'send_input', reason: expect.stringContaining('items') });
  const [, after] = outputs(await session.items(), 'wait');
  expect(after).toMatchObject({
    timed_out: false,
    status: { [session.idOf('default-1')]: { completed: 'done' } },
  });
  expect(await session.untilFinal('default-2')).toMatchObject({ message: 'done' });
});
