import { describe, expect, test } from 'vitest';
import { type AgentSettings, type AgentView, limitsSchema, type NotResumed } from '../../protocol/index.ts';
import { ended, resumeBelow, resumeRoot } from './client-requests.ts';
import { eventually } from './eventually.ts';
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
  spawnAs,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

/** One agent is closed, another one takes its slot and ends its turn, and the first is resumed. */
const resumedBesideAnother = [
  spawn('a'),
  waitForAll,
  call('close_agent', { id: 'default-1' }),
  spawn('b'),
  ({ items }: Seen) => wait([spawned(items)[1] ?? '']),
  call('resume_agent', { id: 'default-1' }),
];

describe.concurrent('resume', () => {
  test('a closed child comes back with its conversation, role, note and depth, and works again', async () => {
    const session = await worker().start({
      roles: { poet: { model: 'another' } },
      script: lines({
        root: [
          spawnAs('poet'),
          waitForAll,
          call('set_thread_note', { id: 'poet-1', note: 'keeps this' }),
          call('close_agent', { id: 'poet-1' }),
          call('resume_agent', { id: 'poet-1' }),
          call('send_input', { id: 'poet-1', message: 'again' }),
          () => wait(['poet-1']),
          say('ok'),
        ],
        'poet-1': [say('first'), say('second')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'resume_agent')).toEqual({ status: { completed: 'first' } });
    expect(lastOutput(items, 'wait').status).toEqual({ [session.idOf('poet-1')]: { completed: 'second' } });
    const view = await session.status('poet-1');
    expect(view).toMatchObject({ role: 'poet', model: 'another', note: 'keeps this', depth: 1, turn: 2 });
    expect(
      session
        .asked('poet-1')
        .at(-1)
        ?.items.map((item) => item.type),
    ).toEqual(['user_message', 'assistant_message', 'user_message']);
    expect(await session.eventsOf('agent.resume.end')).toMatchObject([
      { receiver_id: session.idOf('poet-1'), status: { completed: 'first' } },
    ]);
  });

  test('what bounded the agent before bounds it again: tools, depth and steps', async () => {
    const session = await worker().start({
      roles: {
        bound: {
          tool_policy: { allow: [['look']], deny: ['act'] },
          limits: limitsSchema.parse({ max_depth: 1, max_steps: 2 }),
          sandbox_mode: 'read-only',
        },
      },
      tools: { look: () => 'seen' },
      script: lines({
        root: [
          spawnAs('bound'),
          waitForAll,
          call('close_agent', { id: 'bound-1' }),
          call('resume_agent', { id: 'bound-1' }),
          call('send_input', { id: 'bound-1', message: 'again' }),
          () => wait(['bound-1']),
          say('ok'),
        ],
        'bound-1': [say('first'), spawn('deeper'), call('look'), say('handed back')],
      }),
    });
    await session.untilFinal();
    const settings = await session.agent('bound-1').query<AgentSettings>('_settings');
    expect(settings).toMatchObject({
      tool_policy: { allow: [['look']], deny: ['act'] },
      sandbox_mode: 'read-only',
      limits: { max_depth: 1, max_steps: 2 },
    });
    expect(lastOutput(await session.items('bound-1'), 'spawn_agent').error.code).toBe('limit_depth');
    expect(await session.status('bound-1')).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('agents.max_steps'),
    });
  });

  test('what is left of its share of the tokens is left to it, also below a resumed root', async () => {
    const session = await worker().start({
      limits: { max_child_tokens: 4 * 15 },
      tools: { look: () => 'seen' },
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [say('first'), say('second'), call('look'), call('look'), call('look')],
      }),
    });
    await session.untilFinal();
    await session.agent('default-1').signal('shutdown');
    await ended(session, 'default-1');
    expect(await resumeBelow(session, 'default-1')).toMatchObject({ success: true });
    await session.send('more', 'default-1');
    expect(await session.untilFinal('default-1', 2)).toMatchObject({
      status: 'completed',
      message: 'second',
    });
    await session.agent().signal('shutdown');
    await ended(session);
    await resumeRoot(worker(), session);
    expect(await resumeBelow(session, 'default-1')).toMatchObject({ success: true });
    await session.send('go on', 'default-1');
    const view = await session.untilFinal('default-1', 3);
    expect(view).toMatchObject({ status: 'errored', max_tokens: 4 * 15, usage: { total_tokens: 4 * 15 } });
    expect(view.message).toContain('max_child_tokens');
  });

  test('that is interrupted ends soon, and brings the agent back all the same', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          call('resume_agent', { id: 'default-1' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    const gate = new Gate();
    session.past('default-1', { sought: gate.opened });
    await eventually(async () => expect(await session.eventsOf('agent.resume.begin')).toHaveLength(1));
    await session.agent().signal('interrupt');
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'resume_agent').error).toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining(`The resume of ${session.idOf('default-1')} goes on`),
    });
    expect(await session.eventsOf('agent.resume.end')).toEqual([]);
    gate.open();
    await eventually(async () => {
      expect(await session.eventsOf('agent.resume.end')).toMatchObject([{ status: { completed: 'done' } }]);
    });
    await session.until('default-1', (view) => !view.closed);
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ status: 'completed', message: 'ok' });
  });

  test('an open agent is left as it is', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('resume_agent', { id: 'default-1' }), say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'resume_agent')).toEqual({ status: { completed: 'done' } });
    expect(await session.eventsOf('session.started', 'default-1')).toHaveLength(1);
  });

  test('ids are not given out again after a resume', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          say('closed'),
          say('ok'),
        ],
        'default-1': [spawn('a'), waitForAll, say('one'), spawn('b'), say('two')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const resumed = await resumeBelow(session, 'default-1');
    expect(resumed.success).toBe(true);
    await session.send('go on', 'default-1');
    await session.untilFinal('default-1', 2);
    expect(outputs(await session.items('default-1'), 'spawn_agent')).toEqual([
      { agent_id: session.idOf('default-1/default-1') },
      { agent_id: session.idOf('default-1/default-2') },
    ]);
  });

  test('recursive brings back what was closed along, and not what had been closed before', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          say('closed'),
          say('ok'),
        ],
        'default-1': [
          spawn('a', 'b'),
          waitForAll,
          call('close_agent', { id: 'default-1/default-1' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { output } = await resumeBelow(session, 'default-1', true);
    expect(output.resumed).toEqual([session.idOf('default-1'), session.idOf('default-1/default-2')]);
    expect(await session.status('default-1/default-1')).toMatchObject({ closed: true });
    await session.until('default-1/default-2', (view) => !view.closed);
    await eventually(async () => {
      const { agents } = await session.tree();
      expect(agents.filter((agent) => agent.closed).map((agent) => agent.agent_id)).toEqual([
        session.idOf('default-1/default-1'),
      ]);
    });
  });

  test('an agent below a closed one is refused, naming whom to resume first', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('parent'), waitForAll, call('close_agent', { id: 'default-1' }), say('ok')],
        'default-1': [spawn('a'), waitForAll, say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { success, output } = await resumeBelow(session, 'default-1/default-1');
    expect(success).toBe(false);
    expect(output.error).toMatchObject({
      code: 'agent_not_resumable',
      hint: expect.stringContaining(session.idOf('default-1')),
    });
  });

  test('a one-shot root that has settled comes back, stays open, and settles after another turn', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [say('first'), say('second')] }),
    });
    expect(await session.result()).toMatchObject({ output: 'first' });
    await resumeRoot(worker(), session);
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'first', closed: false });
    await session.send('more');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'second' });
  });

  test('an agent that was terminated in the middle of a call comes back, and its model learns what is unknown', async () => {
    let acted = 0;
    const session = await worker().start({
      tools: {
        act: async () => {
          acted++;
          return never();
        },
      },
      script: lines({ root: [call('act'), say('ok')] }),
    });
    await eventually(async () => expect(acted).toBe(1));
    await session.agent().terminate('by a person');
    await ended(session);
    await resumeRoot(worker(), session);
    expect(await session.status()).toMatchObject({ status: 'interrupted', closed: false });
    await session.send('what now');
    await session.untilFinal('root', 2);
    const asked = session.asked().at(-1)?.items ?? [];
    expect(lastOutput(asked, 'act').error.code).toBe('outcome_unknown');
    expect(heard(asked)).toEqual(['the task', 'what now']);
    expect(acted).toBe(1);
  });

  test('what was done in the step that was cut off is not lost', async () => {
    let acted = 0;
    const session = await worker().start({
      tools: { act: () => (++acted === 1 ? 'done' : never()) },
      script: lines({ root: [{ calls: [{ name: 'act' }, { name: 'act' }] }, say('ok')] }),
    });
    await eventually(async () => expect(acted).toBe(2));
    await session.agent().terminate('by a person');
    await ended(session);
    await resumeRoot(worker(), session);
    await session.send('what now');
    await session.untilFinal('root', 2);
    const [first, second] = outputs(session.asked().at(-1)?.items ?? [], 'act');
    expect(first).toBe('done');
    expect(second.error.code).toBe('outcome_unknown');
  });

  test('what cannot come back is named with the reason, and the others come back', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          say('closed'),
          say('ok'),
        ],
        'default-1': [spawn('a', 'b', 'c'), waitForAll, say('ok')],
        'default-1/default-2': [spawn('deep'), waitForAll, say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    session.past('default-1/default-1', { gone: 'before' });
    session.past('default-1/default-2/default-1', { gone: 'before' });
    const { output } = await resumeBelow(session, 'default-1', true);
    expect(output).toEqual({
      status: { completed: 'ok' },
      resumed: ['default-1', 'default-1/default-2', 'default-1/default-3'].map((name) => session.idOf(name)),
      not_resumed: ['default-1/default-1', 'default-1/default-2/default-1'].map((name) => ({
        agent_id: session.idOf(name),
        error: expect.objectContaining({
          code: 'agent_not_found',
          message: expect.stringContaining(session.idOf(name)),
        }),
      })),
    });
    const warnings = (await session.eventsOf('warning')).map(({ text }) => text);
    expect(warnings).toEqual([
      expect.stringContaining('default-1/default-1'),
      expect.stringContaining('default-1/default-2/default-1'),
    ]);
  });

  test('below one that a limit keeps back nothing comes back, and each is named', async () => {
    const session = await worker().start({
      limits: { count: 'open', max_threads: 4 },
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          spawn('x', 'y'),
          waitForAll,
          say('ok'),
        ],
        'default-1': [spawn('a', 'b'), waitForAll, say('ok')],
        'default-1/default-2': [spawn('deep'), waitForAll, say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { output } = await resumeBelow(session, 'default-1', true);
    expect(output.resumed).toEqual(['default-1', 'default-1/default-1'].map((name) => session.idOf(name)));
    expect(
      output.not_resumed.map(({ agent_id, error }: NotResumed) => [agent_id, error.code, error.message]),
    ).toEqual([
      [session.idOf('default-1/default-2'), 'limit_threads', expect.stringContaining('agents.max_threads')],
      [
        session.idOf('default-1/default-2/default-1'),
        'agent_not_resumable',
        expect.stringContaining(session.idOf('default-1/default-2')),
      ],
    ]);
    expect((await session.tree()).slots).toEqual({ used: 4, max: 4 });
    const { success, output: refused } = await resumeBelow(session, 'default-1/default-2', true);
    expect(success).toBe(false);
    expect(refused.error).toMatchObject({
      code: 'limit_threads',
      not_resumed: [{ agent_id: session.idOf('default-1/default-2/default-1') }],
    });
  });

  test('where open agents hold slots, one that only stands in line waits for its slot before it takes input', async () => {
    const session = await worker().start({
      limits: { count: 'open', max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [
          ...resumedBesideAnother,
          call('send_input', { id: 'default-1', message: 'more' }),
          say('ok'),
          call('close_agent', { id: 'default-2' }),
          say('closed'),
        ],
        'default-1': [say('first'), say('second')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'resume_agent')).toEqual({ status: 'pending_init' });
    const inLine = { status: 'pending_init', queued: true, turn: 1 };
    expect(await session.until('default-1', (view) => view.waiting_for === 'slot')).toMatchObject(inLine);
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
    expect(session.asked('default-1')).toHaveLength(1);
    await session.send('close it');
    await session.untilFinal('root', 2);
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'second' });
    await eventually(async () => expect((await session.tree()).slots).toEqual({ used: 1, max: 1 }));
    const notices = heard(session.asked().at(-1)?.items ?? []).filter((text) => text.startsWith('notice:'));
    expect(notices.filter((text) => text.includes('first'))).toEqual([]);
  });

  test('with a slot that has become free it stands as before, and is not announced again', async () => {
    const session = await worker().start({
      limits: { count: 'open', max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [
          ...resumedBesideAnother,
          call('close_agent', { id: 'default-2' }),
          say('ok'),
          say('nothing new'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const back = (view: AgentView) => !view.closed && view.queued === undefined;
    expect(await session.until('default-1', back)).toMatchObject({ status: 'completed', message: 'done' });
    await eventually(async () => {
      const { agents, slots } = await session.tree();
      expect(agents[1]).toMatchObject({ status: 'completed', closed: false });
      expect(slots?.used).toBe(1);
    });
    await session.send('any news?');
    await session.untilFinal('root', 2);
    const [last] = session.asked().slice(-1);
    expect(heard(last?.items ?? [])).toEqual(['the task', 'any news?']);
  });
});

describe.concurrent('an agent that was closed while a new turn of it stood in line', () => {
  const limits = { max_threads: 1, when_full: 'queue' } as const;
  const warnings = async (session: ScriptedSession, name: string) =>
    (await session.eventsOf('warning', name)).map(({ text }) => text);

  test('comes back with what it had come to last, and is given what waited before what comes next', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits,
      script: lines({
        root: [spawn('a'), waitForAll, spawn('b'), say('ok')],
        'default-1': [say('first'), say('second')],
        'default-2': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'model');
    for (const text of ['old one', 'old two']) await session.send(text, 'default-1');
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    await session.agent('default-1').signal('shutdown');
    await ended(session, 'default-1');
    const { output } = await resumeBelow(session, 'default-1');
    expect(output.status).toEqual({ completed: 'first' });
    const stands = { status: 'completed', message: 'first', turn: 1, closed: false };
    expect(await session.until('default-1', (view) => !view.closed)).toMatchObject(stands);
    await eventually(async () => expect((await session.tree()).agents[1]).toMatchObject(stands));
    expect(await warnings(session, 'default-1')).toEqual([
      expect.stringMatching(/^2 inputs that had come before .* wait for the next one.*cadre send/),
    ]);
    gate.open();
    await session.untilFinal('default-2');
    expect(session.asked('default-1')).toHaveLength(1);
    await session.send('new', 'default-1');
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'second' });
    expect(heard(await session.items('default-1'))).toEqual(['a', 'old one', 'old two', 'new']);
  });

  test('and that never had a turn comes back as interrupted, and keeps nobody waiting', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits,
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('a', 'b'),
          call('close_agent', { id: 'default-2' }),
          call('resume_agent', { id: 'default-2' }),
          ({ items }: Seen) => wait([spawned(items)[1] ?? '']),
          () => gate.opened.then(() => say('ok')),
          say('all told'),
        ],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await eventually(async () => expect(session.asked()).toHaveLength(5));
    const interrupted = { interrupted: 'the agent was closed before its first turn' };
    const items = await session.items();
    expect(lastOutput(items, 'resume_agent')).toEqual({ status: interrupted });
    expect(lastOutput(items, 'wait').status).toEqual({ [session.idOf('default-2')]: interrupted });
    // It may still read what it was.
    const view = await session.until('default-2', ({ status }) => status === 'interrupted');
    expect(view.turn).toBe(0);
    expect(await warnings(session, 'default-2')).toEqual([
      expect.stringMatching(/^1 input that had come before .* waits for the next one/),
    ]);
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed' });
    expect(session.asked('default-2')).toEqual([]);
  });

  test('loses nothing however often that happens, also where it is ended from outside', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits,
      script: lines({
        root: [spawn('a'), waitForAll, spawn('b'), say('ok')],
        'default-1': [say('first'), say('second')],
        'default-2': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'model');
    for (const [text, ending] of [
      ['one', 'shutdown'],
      ['two', 'terminate'],
      ['three', 'shutdown'],
    ]) {
      await session.send(text, 'default-1');
      await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
      if (ending === 'shutdown') await session.agent('default-1').signal('shutdown');
      else await session.agent('default-1').terminate('by a person');
      await ended(session, 'default-1');
      const { output } = await resumeBelow(session, 'default-1');
      expect(output.status).toEqual({ completed: 'first' });
      await session.until('default-1', (view) => !view.closed);
    }
    gate.open();
    await session.send('four', 'default-1');
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'second' });
    expect(heard(await session.items('default-1'))).toEqual(['a', 'one', 'two', 'three', 'four']);
    expect((await warnings(session, 'default-1')).map((text) => text[0])).toEqual(['1', '2', '3']);
  });
});
