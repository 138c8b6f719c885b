import { describe, expect, test } from 'vitest';
import {
  type ApprovalsView,
  type RoleRequest,
  type SessionProjection,
  sessionProjectionSchema,
} from '../../protocol/index.ts';
import { Gate } from './gate.ts';
import { call, heard, lastOutput, lines, outputs, type Say, type Seen, say, untilStopped } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const open = (args: object = {}): Say => call('agent_open', { prompt: 'look', ...args });
const ask = (name: string, args: object = {}): Say => call('agent_eval', { name, ...args });
const close = (name: string): Say => call('agent_close', { name });
const together = (...says: Say[]): Say => ({ calls: says.flatMap(({ calls = [] }) => calls) });

const REPORT = 'SUMMARY: done\nCHANGES: None.\nEVIDENCE: a.ts:1-2\nRISKS: none\nBLOCKERS: None.';
const SECTIONS = {
  summary: 'done',
  changes: 'None.',
  evidence: 'a.ts:1-2',
  risks: 'none',
  blockers: 'None.',
};
/** Says nothing until it is let go. */
const onceOpen = (gate: Gate, text: string) => async (): Promise<Say> => {
  await gate.opened;
  return say(text);
};
/** Lets it go, and says that. */
const opened = (gate: Gate, say: Say) => (): Say => {
  gate.open();
  return say;
};
/** What an answer holds has the form that is promised. */
const sound = (projection: unknown): SessionProjection => sessionProjectionSchema.parse(projection);

describe.concurrent('a session', () => {
  test('is opened under its name, asked for what it hands back, and closed with what it has come to', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open({ name: 'mapper', type: 'explore' }),
          ask('mapper'),
          close('mapper'),
          ask('mapper', { block: false }),
          say('ok'),
        ],
        mapper: [say(REPORT)],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const id = session.idOf('mapper');
    const about = {
      name: 'mapper',
      agent_id: id,
      type: 'explore',
      context_mode: 'fresh',
      transcript_handle: `transcript:${id}`,
    };
    expect(sound(lastOutput(items, 'agent_open'))).toEqual({ ...about, status: 'running', terminal: false });
    const [asked, looked] = outputs(items, 'agent_eval').map(sound);
    const end = { status: 'completed', terminal: true, message: REPORT, contract: 'ok', sections: SECTIONS };
    expect(asked).toEqual({ ...about, ...end });
    expect(sound(lastOutput(items, 'agent_close'))).toEqual({
      ...about,
      ...end,
      closed: true,
      status_before: 'completed',
      closed_agents: [id],
    });
    expect(looked).toEqual({ ...about, ...end, closed: true });
    expect(await session.status('mapper')).toMatchObject({
      name: 'mapper',
      status: 'completed',
      closed: true,
    });
    // The model has learnt of it by the answers.
    expect(heard(items).filter((text) => text.startsWith('notice'))).toEqual([]);
    // Its task is its first message, and it is told of the sections, which none below it is unless opened so.
    expect(heard(await session.items('mapper'))).toEqual(['look']);
    expect(session.asked('mapper')[0]?.settings).toMatchObject({ result_sections: true });
  });

  test('tells how much of its report has sections, and what stands beside another end', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          together(open({ name: 'part' }), open({ name: 'none' }), open({ name: 'broken' })),
          together(ask('part'), ask('none'), ask('broken')),
          say('ok'),
        ],
        part: [say('SUMMARY: half\nRISKS: many')],
        none: [say('all fine')],
        broken: [{ fail: { code: 'model_refused', message: 'who are you?' } }],
      }),
    });
    await session.untilFinal();
    expect(outputs(await session.items(), 'agent_eval').map(sound)).toMatchObject([
      { contract: 'partial', sections: { summary: 'half', risks: 'many' } },
      { contract: 'missing', message: 'all fine' },
      { status: 'errored', terminal: true, message: expect.stringContaining('who are you?') },
    ]);
    const [, none, broken] = outputs(await session.items(), 'agent_eval');
    expect(none).not.toHaveProperty('sections');
    expect(broken).not.toHaveProperty('contract');
  });

  test('that has finished goes on with a message, and one that works sees it before its next model call', async () => {
    const gate = new Gate();
    const session = await worker().start({
      tools: {
        act: async () => {
          await gate.opened;
          return 'acted';
        },
      },
      script: lines({
        root: [
          open({ name: 'one' }),
          ask('one', { message: 'and now this', block: false }),
          () => {
            gate.open();
            return ask('one');
          },
          ask('one', { items: [{ type: 'text', text: 'once more' }] }),
          say('ok'),
        ],
        one: [
          call('act'),
          ({ items }) => say(heard(items).join('; ')),
          ({ items }) => say(heard(items).join('; ')),
        ],
      }),
    });
    await session.untilFinal();
    const [sent, first, second] = outputs(await session.items(), 'agent_eval').map(sound);
    expect(sent).toMatchObject({ status: 'running', terminal: false });
    expect(first).toMatchObject({ status: 'completed', message: 'look; and now this' });
    expect(second).toMatchObject({ status: 'completed', message: 'look; and now this; once more' });
    expect(first).not.toHaveProperty('timed_out');
  });

  test('is not shown with its last answer while a message is on its way to it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          open({ name: 'one' }),
          ask('one'),
          ask('one', { message: 'again', block: false }),
          () => {
            gate.open();
            return ask('one');
          },
          say('ok'),
        ],
        one: [say('first'), onceOpen(gate, 'second')],
      }),
    });
    await session.untilFinal();
    const [first, sent, second] = outputs(await session.items(), 'agent_eval').map(sound);
    expect(first).toMatchObject({ message: 'first' });
    expect(sent).toMatchObject({ status: 'running', terminal: false });
    expect(sent).not.toHaveProperty('message');
    expect(second).toMatchObject({ status: 'completed', message: 'second' });
  });

  test('that is not done in time answers so, and nothing of it is lost', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { wait_min_ms: 1_000 },
      script: lines({
        root: [
          open({ name: 'slow' }),
          ask('slow', { timeout_ms: 1_000 }),
          () => {
            gate.open();
            return ask('slow');
          },
          say('ok'),
        ],
        slow: [onceOpen(gate, 'at last')],
      }),
    });
    await session.untilFinal();
    const [late, done] = outputs(await session.items(), 'agent_eval').map(sound);
    expect(late).toMatchObject({ status: 'running', terminal: false, timed_out: true });
    expect(done).toMatchObject({ status: 'completed', message: 'at last' });
    expect(done).not.toHaveProperty('timed_out');
  });

  test('lets new input end the wait for it early', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [open({ name: 'slow' }), ask('slow'), opened(gate, ask('slow')), say('ok')],
        slow: [onceOpen(gate, 'done')],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    await session.send({ message: 'hurry' });
    await session.untilFinal();
    const items = await session.items();
    const [early, done] = outputs(items, 'agent_eval').map(sound);
    expect(early).toMatchObject({ status: 'running', interrupted_by_input: true });
    expect(done).toMatchObject({ message: 'done' });
    expect(heard(items)).toContain('hurry');
  });

  test('is stopped by an interrupt, with a message to go on with or without one', async () => {
    let begun = 0;
    const session = await worker().start({
      tools: {
        act: (seen) => {
          begun++;
          return untilStopped(() => {})(seen);
        },
      },
      script: lines({
        root: [
          open({ name: 'one' }),
          async () => {
            while (begun === 0) await new Promise((resolve) => setTimeout(resolve, 50));
            return ask('one', { interrupt: true });
          },
          ask('one', { message: 'rather this', interrupt: true }),
          say('ok'),
        ],
        one: [call('act'), ({ items }) => say(heard(items).at(-1) ?? '')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const [stopped, done] = outputs(items, 'agent_eval').map(sound);
    expect(stopped).toMatchObject({
      status: 'interrupted',
      terminal: true,
      message: `interrupted by ${session.id}`,
    });
    expect(done).toMatchObject({ status: 'completed', message: 'rather this' });
    expect(heard(items).filter((text) => text.startsWith('notice'))).toEqual([]);
  });

  test('that works when it is closed is shut down, with what is below it', async () => {
    const session = await worker().start({
      tools: { act: untilStopped(() => {}) },
      script: lines({
        root: [
          open({ name: 'lead' }),
          async () => {
            await session.until('lead/hand', (view) => view.waiting_for === 'tool');
            return close('lead');
          },
          ask('lead', { message: 'more' }),
          close('lead'),
          say('ok'),
        ],
        lead: [open({ name: 'hand' }), call('act'), say('never')],
        'lead/hand': [call('act'), say('never')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const [closed, again] = outputs(items, 'agent_close').map(sound);
    const [lead, hand] = [session.idOf('lead'), session.idOf('lead/hand')];
    expect(closed).toMatchObject({
      status: 'shutdown',
      terminal: true,
      closed: true,
      status_before: 'running',
      closed_agents: [hand, lead],
    });
    expect(again).toMatchObject({ status: 'shutdown', closed: true, closed_agents: [] });
    expect(lastOutput(items, 'agent_eval').error).toMatchObject({
      code: 'agent_closed',
      hint: expect.stringContaining('agent_open'),
    });
  });
});

describe.concurrent('the name of a session', () => {
  test('is taken once, also within one answer, and may not be everything', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          together(
            open({ name: 'one' }),
            open({ name: 'one' }),
            open({ name: 'general-1' }),
            open({ type: 'general' }),
          ),
          together(ask('one'), ask('general-1'), ask('general-2'), close('one')),
          together(open({ name: 'one' }), open({ name: 'a/b' })),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const opened = outputs(items, 'agent_open');
    expect(opened.map(({ name, error }) => name ?? error.code)).toEqual([
      'one',
      'invalid_arguments',
      'general-1',
      'general-2',
      'invalid_arguments',
      'invalid_arguments',
    ]);
    expect(opened[4].error.message).toContain(session.idOf('one'));
    expect(outputs(items, 'agent_eval').map(({ status }) => status)).toEqual(Array(3).fill('completed'));
    expect((await session.tree()).agents).toHaveLength(4);
  });

  test('of a session that there is none of is refused with those that there are, as is its own', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open({ name: 'one' }),
          ask('two'),
          call('agent_eval', { agent_id: 'a0000000000000/one' }),
          ({ items }: Seen) => call('agent_eval', { agent_id: lastOutput(items, 'agent_open').agent_id }),
          () => call('agent_eval', { agent_id: session.id, block: false }),
          say('ok'),
        ],
        one: [say('done')],
      }),
    });
    await session.untilFinal();
    const [two, other, one, self] = outputs(await session.items(), 'agent_eval');
    expect(two.error).toMatchObject({ code: 'agent_not_found', hint: expect.stringContaining('one') });
    expect(other.error).toMatchObject({ code: 'agent_not_found' });
    expect(one).toMatchObject({ status: 'completed' });
    expect(self.error).toMatchObject({ code: 'not_permitted' });
  });

  test('reaches one that another agent has opened, whom only those above it may stop or close', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          together(open({ name: 'one', fork_context: true }), open({ name: 'two' })),
          ask('two', { timeout_ms: 60_000 }),
          say('ok'),
        ],
        one: [onceOpen(gate, REPORT), ({ items }) => say(`heard ${heard(items).at(-1)}`)],
        two: [
          ask('one', { interrupt: true }),
          close('one'),
          () => {
            gate.open();
            return ask('one');
          },
          ask('one', { message: 'hello' }),
          say('done'),
        ],
      }),
    });
    await session.untilFinal();
    const items = await session.items('two');
    const [stop, first, second] = outputs(items, 'agent_eval');
    expect(stop.error).toMatchObject({ code: 'not_permitted' });
    expect(lastOutput(items, 'agent_close').error).toMatchObject({ code: 'not_permitted' });
    expect(sound(first)).toMatchObject({
      agent_id: session.idOf('one'),
      contract: 'ok',
      context_mode: 'forked',
    });
    expect(sound(second)).toMatchObject({ message: 'heard hello' });
  });
});

describe.concurrent('the limits of sessions', () => {
  test('at the cap the refusal names it and what to do; closing one or waiting for one makes room', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 2 },
      script: lines({
        root: [
          together(open({ name: 'a' }), open({ name: 'b' }), open({ name: 'c' })),
          close('a'),
          together(open({ name: 'c' }), open({ name: 'd' })),
          () => {
            gate.open();
            return ask('b');
          },
          together(ask('c'), open({ name: 'd' })),
          ask('d'),
          say('ok'),
        ],
        a: [onceOpen(new Gate(), 'never')],
        d: [say('done')],
        '*': [onceOpen(gate, 'done')],
      }),
    });
    await session.untilFinal();
    const opened = outputs(await session.items(), 'agent_open');
    expect(opened.map(({ name, error }) => name ?? error.code)).toEqual([
      'a',
      'b',
      'limit_threads',
      'c',
      'limit_threads',
      'd',
    ]);
    const { error } = opened[2];
    expect(error.message).toContain('All 2 slots');
    expect(error.hint).toContain('agent_eval');
    expect(error.hint).toContain('agent_close');
    expect(error.hint).not.toContain('close_agent');
  });

  test('one that waits for a session has lent its slot to it', async () => {
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [open({ name: 'lead' }), ask('lead'), say('ok')],
        lead: [
          open({ name: 'hand' }),
          ({ items }) => say(JSON.stringify(lastOutput(items, 'agent_open').error?.code ?? 'opened')),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'agent_eval')).toMatchObject({ message: '"limit_threads"' });

    const queued = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [open({ name: 'lead' }), ask('lead'), say('ok')],
        lead: [
          open({ name: 'hand' }),
          ask('hand'),
          ({ items }) => say(lastOutput(items, 'agent_eval').message),
        ],
        'lead/hand': [say('the hand is done')],
      }),
    });
    await queued.untilFinal();
    expect(lastOutput(await queued.items(), 'agent_eval')).toMatchObject({ message: 'the hand is done' });
    expect(lastOutput(await queued.items('lead'), 'agent_open')).toMatchObject({ status: 'pending_init' });
  });

  test('max_depth bounds what is below a session, and never widens what it inherits', async () => {
    const session = await worker().start({
      limits: { max_depth: 2 },
      script: lines({
        root: [
          together(open({ name: 'none', max_depth: 0 }), open({ name: 'many', max_depth: 9 })),
          together(ask('none'), ask('many')),
          say('ok'),
        ],
        many: [open({ name: 'below' }), ask('below'), say('done')],
        'many/below': [open({ name: 'deeper' }), say('done')],
        '*': [open({ name: 'below' }), say('done')],
      }),
    });
    await session.untilFinal();
    const code = async (name: string) => lastOutput(await session.items(name), 'agent_open').error?.code;
    expect(await code('none')).toBe('limit_depth');
    expect(await code('many')).toBeUndefined();
    expect(await code('many/below')).toBe('limit_depth');
  });

  test('type, tools, model and folder go to whoever resolves the role, and a role that there is none of is refused', async () => {
    const requests: RoleRequest[] = [];
    const session = await worker().start({
      beforeRole: (request) => requests.push(request),
      script: lines({
        root: [
          together(
            open({ agent_type: 'custom', allowed_tools: ['read_file'], model: 'other', cwd: '/place/2' }),
            open({ type: 'nobody' }),
          ),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'approval');
    const { approvals } = await session.agent().query<ApprovalsView>('approvals');
    const decision = { approval_id: approvals[0]?.approval_id, decision: 'approve' };
    await session.agent().executeUpdate('decide_approval', { args: [decision] });
    await session.untilFinal();
    expect(requests).toContainEqual(
      expect.objectContaining({
        role: 'custom',
        allowed_tools: ['read_file'],
        model: 'other',
        working_directory: '/place/2',
      }),
    );
    const [custom, nobody] = outputs(await session.items(), 'agent_open');
    expect(sound(custom)).toMatchObject({ type: 'custom', name: 'custom-1' });
    expect(nobody.error.code).toBe('unknown_role');
    expect(await session.status('custom-1')).toMatchObject({ working_directory: '/place/2' });
  });
});

describe.concurrent('a session with the context of its parent', () => {
  test('goes on from its conversation, and says so as long as it lives', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          call('look'),
          open({ name: 'fork', type: 'review', fork_context: true }),
          ask('fork'),
          close('fork'),
          say('ok'),
        ],
        // It goes on from the first answer of its parent.
        fork: [say('never'), say(REPORT)],
      }),
      tools: { look: () => 'seen' },
    });
    await session.untilFinal();
    const items = await session.items();
    // The task, the call and its output.
    const carried = { context_mode: 'forked', items_carried: 4 };
    expect(sound(lastOutput(items, 'agent_open'))).toMatchObject({ status: 'running', ...carried });
    expect(sound(lastOutput(items, 'agent_eval'))).toMatchObject({ context_mode: 'forked', contract: 'ok' });
    expect(sound(lastOutput(items, 'agent_close'))).toMatchObject({ context_mode: 'forked' });
    expect(await session.status('fork')).toMatchObject({ forked: true });
    const [asked] = session.asked('fork');
    const told = heard(asked?.items ?? []);
    expect(told.slice(-2)[0]).toMatch(
      /From here on you are .*\/fork.*Plan of .*Open agents of .*review.*SUMMARY:.*BLOCKERS:.*Your task follows/s,
    );
    expect(told.at(-1)).toBe('look');
  });
});

test('a session may be opened, asked and closed by hand', async () => {
  const session = await worker().start({
    script: lines({ root: [say('ok')], '*': [say(REPORT)] }),
  });
  await session.untilFinal();
  const answer = async (tool: string, args: object) => {
    const { success, output } = await session.outcomeOf(await session.call(tool, args));
    expect(success).toBe(true);
    return sound(JSON.parse(output));
  };
  expect(await answer('agent_open', { prompt: 'x', name: 'one' })).toMatchObject({ status: 'running' });
  expect(await answer('agent_eval', { name: 'one' })).toMatchObject({ contract: 'ok' });
  expect(await answer('agent_close', { name: 'one' })).toMatchObject({ closed: true, contract: 'ok' });
});
