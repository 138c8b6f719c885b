import { describe, expect, test } from 'vitest';
import { Gate } from './gate.ts';
import { ask, end, gated, notices, open, opened, post } from './mailbox-lines.ts';
import { call, heard, type Line, lastOutput, lines, never, outputs, say, untilStopped } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const ONE = 'default-1';

describe.concurrent('a blocking subagent_reply', () => {
  test('returns the reply with its tokens; the goal comes first, and no notice comes', async () => {
    const session = await worker().start({
      script: lines({
        root: [open('the goal'), ask('first'), ask('second'), say('ok')],
        [ONE]: [call('look'), say('looked'), { text: 'again', tokens: 100 }],
      }),
      tools: { look: () => 'seen' },
    });
    await session.untilFinal();
    const items = await session.items();
    const usage = (total_tokens: number) => expect.objectContaining({ total_tokens });
    expect(outputs(items, 'subagent_reply')).toEqual([
      { reply: 'looked', token_usage: usage(30), done: true, mail_id: 'mail-1' },
      { reply: 'again', token_usage: usage(100), done: true, mail_id: 'mail-2' },
    ]);
    expect(heard(await session.items(ONE))).toEqual(['the goal', 'first', 'second']);
    expect(notices(items)).toEqual([]);
    expect(await session.eventsOf('agent.wait.end')).toMatchObject([
      { timed_out: false },
      { timed_out: false },
    ]);
  });

  test('stays in the mailbox, as read', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open(),
          ask('what is it?'),
          call('subagent_mailbox', {}),
          call('subagent_mailbox', { only_unread: true }),
          call('subagent_read', { mail_id: 'mail-1' }),
          say('ok'),
        ],
        [ONE]: [say('this')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const [all, unread] = outputs(items, 'subagent_mailbox');
    expect(all.items).toEqual([
      {
        mail_id: 'mail-1',
        subagent_id: session.idOf(ONE),
        subject: 'Answer to: what is it?',
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        unread: false,
        turns_completed: 1,
      },
    ]);
    expect(unread.items).toEqual([]);
    expect(lastOutput(items, 'subagent_read')).toEqual({
      subagent_id: session.idOf(ONE),
      subject: 'Answer to: what is it?',
      body: 'this',
      token_usage: expect.objectContaining({ total_tokens: 15 }),
      at: all.items[0].at,
    });
  });

  test('lends the slot of who waits', async () => {
    const session = await worker().start({
      limits: { max_depth: 2, max_threads: 1 },
      script: lines({
        root: [open(), ask('pass it on'), say('ok')],
        [ONE]: [open('below'), ask('work'), ({ items }) => say(lastOutput(items, 'subagent_reply').reply)],
        [`${ONE}/default-1`]: [say('from below')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'subagent_reply')).toMatchObject({ reply: 'from below' });
  });

  test('several of one answer: side by side to different ones, in order to the same one', async () => {
    const both = new Gate();
    let begun = 0;
    const meet =
      (text: string): Line =>
      async () => {
        if (++begun === 2) both.open();
        await both.opened;
        return say(text);
      };
    const session = await worker().start({
      script: lines({
        root: [
          open('a'),
          open('b'),
          ({ items }) => ({
            calls: [0, 1, 0].map((child, index) => ({
              name: 'subagent_reply',
              args: { subagent_id: opened(items)[child], message: `message ${index}` },
            })),
          }),
          say('ok'),
        ],
        [ONE]: [meet('one'), say('one again')],
        'default-2': [meet('two')],
      }),
    });
    await session.untilFinal();
    const replies = outputs(await session.items(), 'subagent_reply');
    expect(replies.map(({ reply }) => reply)).toEqual(['one', 'two', 'one again']);
    // Each in a turn of its own, none steered into the one before.
    expect(session.asked(ONE).map(({ items, turn }) => [turn, heard(items).at(-1)])).toEqual([
      [1, 'message 0'],
      [2, 'message 2'],
    ]);
  });

  test('out of time is a value, and what comes later is mail, with a notice', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { wait_min_ms: 1_000, wake_parent: true },
      script: lines({
        root: [
          open(),
          ask('slowly', { timeout_ms: 1 }),
          say('went on'),
          call('subagent_read', { mail_id: 'mail-1' }),
          say('read it'),
        ],
        [ONE]: [gated(gate, 'at last')],
      }),
    });
    await session.until('root', ({ message }) => message === 'went on');
    const items = await session.items();
    expect(items.findLast((item) => item.type === 'tool_output')).toMatchObject({ success: true });
    expect(lastOutput(items, 'subagent_reply')).toEqual({
      reply: null,
      token_usage: null,
      done: false,
      mail_id: 'mail-1',
      timed_out: true,
    });
    gate.open();
    await session.until('root', ({ message }) => message === 'read it');
    const later = await session.items();
    expect(notices(later)).toEqual([expect.stringMatching(/completed in .*: at last$/)]);
    expect(lastOutput(later, 'subagent_read')).toMatchObject({ body: 'at last' });
  });

  test('ends early for new input, and the reply comes as mail', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({ root: [open(), ask('slowly'), say('heard')], [ONE]: [gated(gate, 'late')] }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    await session.send({ message: 'hurry' });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'subagent_reply')).toMatchObject({ done: false, interrupted_by_input: true });
    expect(heard(items)).toContain('hurry');
    gate.open();
    await session.untilFinal(ONE);
    const outcome = await session.outcomeOf(await session.call('subagent_read', { mail_id: 'mail-1' }));
    expect(JSON.parse(outcome.output)).toMatchObject({ body: 'late' });
  });

  test('that fails says why, without success', async () => {
    const session = await worker().start({
      script: lines({
        root: [open('a', { max_turns: 1 }), ask('x'), ask('y'), say('ok')],
        '*': [{ fail: { code: 'model_refused', message: 'who are you?' } }],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(outputs(items, 'subagent_reply')).toMatchObject([
      { reply: null, done: true, error: expect.stringContaining('who are you?') },
      { reply: null, done: true, error: expect.stringContaining('agents.max_turns') },
    ]);
    const replies = items.flatMap((item) =>
      item.type === 'tool_output' && item.output.includes('"done"') ? [item.success] : [],
    );
    expect(replies).toEqual([false, false]);
    expect(notices(items)).toEqual([]);
  });

  test('that is interrupted ends, with the turn below it, which becomes mail', async () => {
    const session = await worker().start({
      tools: { act: untilStopped(() => {}) },
      script: lines({ root: [open(), ask('x'), say('again')], '*': [call('act'), say('never')] }),
    });
    await session.until(ONE, (view) => view.waiting_for === 'tool');
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted' });
    await session.untilFinal(ONE);
    const outcome = await session.outcomeOf(await session.call('subagent_mailbox', { only_unread: true }));
    expect(JSON.parse(outcome.output).items).toMatchObject([
      { mail_id: 'mail-1', subject: 'No answer to: x' },
    ]);
    const mail = await session.outcomeOf(await session.call('subagent_read', { mail_id: 'mail-1' }));
    expect(JSON.parse(mail.output).body).toMatch(/^interrupted: .*enough/);
  });

  test('to a sub-agent that is terminated meanwhile ends as a failure', async () => {
    const session = await worker().start({
      script: lines({ root: [open(), ask('x'), ask('y'), say('ok')], '*': [never] }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    await session.agent(ONE).terminate('by a person');
    await session.untilFinal();
    const [first, second] = outputs(await session.items(), 'subagent_reply');
    expect(first).toMatchObject({ done: true, error: expect.stringContaining('ended from outside') });
    expect(second.error).toMatchObject({
      code: 'agent_closed',
      hint: expect.stringContaining('subagent_open'),
    });
    expect((await session.tree()).slots?.used).toBe(0);
  });

  test('to an agent that is none, or another’s, is a typed refusal', async () => {
    const session = await worker().start({
      limits: { max_depth: 2 },
      script: lines({
        root: [
          open(),
          ask('open one'),
          call('subagent_reply', { subagent_id: 'nobody', message: 'x' }),
          say('ok'),
        ],
        [ONE]: [
          open('below'),
          ({ agent }) => call('subagent_reply', { subagent_id: 'default-1', message: `x from ${agent}` }),
          say('told'),
        ],
        '*': [say('never')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'subagent_reply').error).toMatchObject({
      code: 'agent_not_found',
    });
  });
});

describe.concurrent('a nonblocking subagent_reply', () => {
  test('is accepted at once; its answer comes as mail, with a notice', async () => {
    const gate = new Gate();
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({
        root: [
          open(),
          post('think'),
          call('subagent_mailbox', {}),
          say('not yet'),
          call('subagent_mailbox', { only_unread: true }),
          call('subagent_read', { mail_id: 'mail-1', peek: true }),
          call('subagent_mailbox', { only_unread: true }),
          call('subagent_read', { mail_id: 'mail-1' }),
          call('subagent_mailbox', { only_unread: true }),
          say('ok'),
        ],
        [ONE]: [gated(gate, 'thought')],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    gate.open();
    expect(await session.result()).toMatchObject({ output: 'ok' });
    const items = await session.items();
    expect(outputs(items, 'subagent_reply')).toEqual([{ accepted: true, mail_id: 'mail-1' }]);
    expect(notices(items)).toEqual([expect.stringMatching(/completed in .*: thought$/)]);
    const unread = outputs(items, 'subagent_mailbox').map((box) =>
      box.items.map((mail: { unread: boolean }) => mail.unread),
    );
    expect(unread).toEqual([[], [true], [true], []]);
    expect(outputs(items, 'subagent_read')[1]).toMatchObject({ body: 'thought' });
  });

  test('several to one are answered in order, each in its turn; a failure is mail as well', async () => {
    const session = await worker().start({
      script: lines({
        root: [open(), post('one'), post('two'), post('three'), say('ok')],
        [ONE]: [
          say('1'),
          ({ turn }) => (turn === 2 ? { fail: { code: 'model_refused', message: 'no' } } : say('3')),
        ],
        '*': [],
      }),
    });
    await session.untilFinal(ONE, 3);
    const list = await session.outcomeOf(await session.call('subagent_mailbox', {}));
    expect(JSON.parse(list.output).items).toMatchObject([
      { mail_id: 'mail-3', subject: 'Answer to: three', turns_completed: 3 },
      { mail_id: 'mail-2', subject: 'No answer to: two', turns_completed: 2 },
      { mail_id: 'mail-1', subject: 'Answer to: one', turns_completed: 1 },
    ]);
    const failed = await session.outcomeOf(await session.call('subagent_read', { mail_id: 'mail-2' }));
    expect(JSON.parse(failed.output).body).toContain('no');
  });

  test('what a person sends meanwhile joins the turn, and the message waits for its own', async () => {
    const gate = new Gate();
    const session = await worker().start({
      tools: {
        look: async () => {
          await gate.opened;
          return 'seen';
        },
      },
      script: lines({
        root: [open(), post('one'), post('two'), say('ok')],
        [ONE]: [call('look'), say('1'), say('2')],
      }),
    });
    await session.until(ONE, (view) => view.waiting_for === 'tool');
    await session.untilFinal();
    await session.send({ message: 'by a person' }, ONE);
    gate.open();
    await session.untilFinal(ONE, 2);
    expect(session.asked(ONE).map(({ turn, items }) => [turn, heard(items).at(-1)])).toEqual([
      [1, 'one'],
      [1, 'by a person'],
      [2, 'two'],
    ]);
  });

  test('what was not answered when the sub-agent ends fails as mail', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open(),
          post('one'),
          post('two'),
          end({ persist: false }),
          call('subagent_mailbox', {}),
          say('ok'),
        ],
        '*': [never],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'subagent_end')).toEqual({
      conversation_id: session.idOf(ONE),
      archived_path: null,
    });
    expect(lastOutput(items, 'subagent_mailbox').items).toMatchObject([
      { mail_id: 'mail-2', subject: 'No answer to: two' },
      { mail_id: 'mail-1', subject: 'No answer to: one' },
    ]);
  });
});
