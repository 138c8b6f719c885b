import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { listAgents } from '../../client/list.ts';
import type { ItemsPage } from '../../protocol/index.ts';
import { arrived, BURST, burst, heardOfBurst } from './burst.ts';
import { ended, resumeBelow } from './client-requests.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { PATIENCE } from './patience.ts';
import {
  call,
  heard,
  lines,
  never,
  outputs,
  type Say,
  type Script,
  say,
  spawn,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withShortRuns } from './with-short-runs.ts';

/** A server of its own that wants a new run after so few events. */
const EVENTS = 40;
vi.setConfig({ maxConcurrency: 10, testTimeout: 150_000 * PATIENCE });
const own = withShortRuns(EVENTS);

const runsOf = async (session: ScriptedSession, name = 'root') =>
  (await own().worker.runs(session.idOf(name))).length;
const numbered = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix} ${n}`);

describe.concurrent('an agent that continues as new', () => {
  test('is listed with the start of its first run, also when it was closed and brought back', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [...numbered(12, '').map(() => call('look')), say('done')],
      }),
      tools: { look: () => 'seen' },
    });
    await session.untilFinal();
    await eventually(async () => expect(await runsOf(session, 'default-1')).toBeGreaterThan(1));
    const runs = await own().worker.runs(session.idOf('default-1'));
    const first = Number(runs.at(-1)?.history.events?.[0]?.eventTime?.seconds);
    const started = async () => {
      const agents = await listAgents(own().worker.client, { session: session.id });
      const { started_at } = agents.find(({ depth }) => depth === 1) ?? expect.fail('it is not listed');
      return started_at;
    };
    const begun = await eventually(started);
    expect(Math.abs(Date.parse(begun) / 1_000 - first)).toBeLessThan(2);
    const { startTime } = await session.agent('default-1').describe();
    expect(Date.parse(begun)).toBeLessThan(startTime.getTime());
    await session.agent('default-1').signal('shutdown');
    await ended(session, 'default-1');
    await resumeBelow(session, 'default-1');
    expect(await eventually(started)).toBe(begun);
  });

  test('brings an agent back of whose end this run of it has not heard', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [spawn('x'), waitForAll, ...numbered(10, '').map(() => call('look')), say('ok'), say('x')],
        'default-1': [say('first'), say('second')],
      }),
      tools: { look: () => 'seen' },
    });
    await session.untilFinal();
    await eventually(async () => expect(await runsOf(session)).toBeGreaterThan(1));
    await session.agent('default-1').terminate('by a person');
    await ended(session, 'default-1');
    const { output } = await resumeBelow(session, 'default-1');
    expect(output.resumed).toEqual([session.idOf('default-1')]);
    await session.send('more', 'default-1');
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'second' });
    expect((await session.tree()).slots?.used).toBe(0);
  });

  test('does not keep the slot of an idle agent of whose end it has not heard, once another one needs it', async () => {
    const session = await own().worker.start({
      limits: { count: 'open', max_threads: 1 },
      tools: { look: () => 'seen' },
      script: lines({
        root: [
          spawn('one'),
          waitForAll,
          ...Array.from({ length: 6 }, () => call('look')),
          say('ready'),
          spawn('two'),
          ({ items }) => wait(spawned(items).slice(1)),
          spawn('three'),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(await runsOf(session)).toBeGreaterThan(1);
    await session.agent('default-1').terminate('by a person');
    await session.send('go on');
    await session.untilFinal('root', 2);
    const [, two, three] = outputs(await session.items(), 'spawn_agent');
    expect(two).toEqual({ agent_id: session.idOf('default-2') });
    // That one lives, and holds its slot.
    expect(three.error).toMatchObject({ code: 'limit_threads' });
    expect((await session.tree()).agents[1]).toMatchObject({ status: 'errored', closed: true });
  });

  test('summarises a conversation that a new run could not take along, and goes on in one', async () => {
    const steps = 40;
    const session = await own().worker.start({
      session: { one_shot: true },
      // Random, so that nothing gets smaller on its way: 4 MB in all.
      tools: { look: ({ args }) => `${args.n} ${randomBytes(75_000).toString('base64')}` },
      script: (seen) => {
        if (seen.summary) return say('what was seen so far');
        return seen.step < steps ? call('look', { n: seen.step }) : say(`answer after ${seen.step}`);
      },
    });
    const { output } = await session.result();
    expect(output).toBe(`answer after ${steps}`);
    const compacted = await session.eventsOf('conversation.compacted');
    expect(compacted.length).toBeGreaterThan(0);
    for (const { reason, bytes_after: left } of compacted) {
      expect(reason).toBe('history');
      expect(left).toBeLessThan(100_000);
    }
    expect(await runsOf(session)).toBeGreaterThan(compacted.length);
    // What was replaced is still there, run by run, in order, once.
    const page = await session.agent().query<ItemsPage, [unknown]>('items', { from: 0, to: 0 });
    const seen: string[] = [];
    for (const { run_id: run, items } of page.replaced_in ?? []) {
      const handle = own().worker.client.workflow.getHandle(session.id, run);
      let found = 0;
      for (let from: number | undefined = 0; from !== undefined; ) {
        const range = { from, replaced: true };
        const part: ItemsPage = await handle.query<ItemsPage, [unknown]>('items', range);
        found += part.items.length;
        seen.push(...part.items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : [])));
        from = part.next;
      }
      expect(found).toBe(items);
    }
    const shown = await session.items();
    seen.push(...shown.flatMap((item) => (item.type === 'tool_output' ? [item.output] : [])));
    expect(seen.map((output) => Number(output.split(' ')[0]))).toEqual([...Array(steps).keys()]);
  });

  test(
    'goes on without its older items where its model writes no summary, before the server ends it for its history',
    async () => {
      const steps = 30;
      const session = await own().worker.start({
        session: { one_shot: true },
        // 18 MB in all.
        tools: { look: ({ args }) => `${args.n} ${randomBytes(450_000).toString('base64')}` },
        script: (seen) => {
          if (seen.summary) return say('');
          return seen.step < steps ? call('look', { n: seen.step }) : say(`answer after ${seen.step}`);
        },
      });
      expect((await session.result()).output).toBe(`answer after ${steps}`);
      const compacted = await session.eventsOf('conversation.compacted');
      expect(compacted).toMatchObject([{ reason: 'history' }]);
      expect(compacted[0]?.bytes_before).toBeGreaterThan(16_000_000);
      expect(await runsOf(session)).toBeGreaterThan(1);
      const [summary] = (await session.items()).filter((item) => item.type === 'summary');
      expect(summary?.text).toMatch(/no summary of them could be had: .*\n\nHow things stand now:/);
    },
    300_000 * PATIENCE,
  );

  test('goes on in the middle of a turn with its whole conversation', async () => {
    const session = await own().worker.start({
      session: { one_shot: true },
      script: ({ step, items }) =>
        step < 12 ? call('look', { step }) : say(`${outputs(items, 'look').length} outputs`),
      tools: { look: ({ args }) => `output ${args.step}` },
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: '12 outputs' });
    const view = await session.status();
    expect(view).toMatchObject({ turn: 1, step: 13, usage: { total_tokens: 13 * 15 } });
    expect(await runsOf(session)).toBeGreaterThan(2);
    expect(outputs(await session.items(), 'look')).toEqual(numbered(12, 'output'));
    const events = await session.events();
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(await session.eventsOf('turn.started')).toHaveLength(1);
  });

  test('keeps its tree: children, waits, notices, slots and numbers', async () => {
    const looks = (count: number) => Array.from({ length: count }, () => call('look'));
    const session = await own().worker.start({
      limits: { max_threads: 2, when_full: 'queue' },
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one', 'two', 'three'),
          ...looks(4),
          waitForAll,
          ...looks(4),
          spawn('four'),
          call('send_input', { id: 'default-1', message: 'more' }),
          ...looks(4),
          wait(['default-1', 'default-4'], { mode: 'all' }),
          say('all done'),
        ],
        'default-1': [
          ...looks(5),
          spawn('deeper'),
          wait(['default-1/default-1', 'default-2'], { mode: 'all' }),
          say('one'),
          ...looks(5),
          say('one more'),
        ],
        'default-1/default-1': [...looks(5), say('deep')],
        'default-2': [...looks(5), say('two')],
        'default-3': [...looks(5), say('three')],
        'default-4': [say('four')],
      }),
      tools: { look: () => 'a file' },
    });
    const result = await session.result();
    expect(result).toMatchObject({ status: 'completed', output: 'all done' });
    expect(result.closed).toHaveLength(6);
    const completed = (words: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(words).map(([name, completed]) => [session.idOf(name), { completed }]),
      );
    const items = await session.items();
    expect(outputs(items, 'wait').map(({ status }) => status)).toEqual([
      completed({ 'default-1': 'one', 'default-2': 'two', 'default-3': 'three' }),
      completed({ 'default-1': 'one more', 'default-4': 'four' }),
    ]);
    expect(outputs(items, 'spawn_agent').map(({ agent_id }) => agent_id)).toEqual(
      numbered(4, '').map((_, n) => session.idOf(`default-${n + 1}`)),
    );
    const [between] = outputs(await session.items('default-1'), 'wait');
    expect(between.status).toEqual(completed({ 'default-1/default-1': 'deep', 'default-2': 'two' }));
    for (const name of ['root', 'default-1']) {
      expect(await runsOf(session, name)).toBeGreaterThan(2);
      const notices = heard(await session.items(name)).filter((text) => text.startsWith('notice'));
      expect(new Set(notices).size).toBe(notices.length);
    }
    expect((await session.tree()).slots).toEqual({ used: 0, max: 2 });
  });

  test('keeps its mail: messages that wait for answers, a blocking one among them, and what is unread', async () => {
    const gate = new Gate();
    const looks = (count: number) => Array.from({ length: count }, () => call('look'));
    const post = (message: string) =>
      call('subagent_reply', { subagent_id: 'default-1', message, mode: 'nonblocking' });
    const session = await own().worker.start({
      session: { one_shot: true },
      tools: { look: () => 'a file' },
      script: lines({
        root: [
          call('subagent_open', { goal: 'answer' }),
          post('one'),
          post('two'),
          ...looks(8),
          {
            calls: ['three', 'four'].map((message) => ({
              name: 'subagent_reply',
              args: { subagent_id: 'default-1', message },
            })),
          },
          ...looks(8),
          call('subagent_mailbox', { only_unread: true }),
          call('subagent_read', { mail_id: 'mail-1' }),
          ...looks(8),
          call('subagent_mailbox', {}),
          call('subagent_end', { subagent_id: 'default-1' }),
          say('all done'),
        ],
        'default-1': [
          async () => {
            await gate.opened;
            return say('1');
          },
          ...looks(6),
          say('2'),
          ...looks(6),
          say('3'),
          say('4'),
        ],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    // It waits for the third: input that is rejected, and told in events, has it go on in a new run.
    const moved = await runsOf(session);
    for (let count = 0; count < EVENTS; count++) await session.agent().signal('send_input', {});
    await eventually(async () => expect(await runsOf(session)).toBeGreaterThan(moved));
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'all done' });
    const items = await session.items();
    expect(outputs(items, 'subagent_reply').map(({ accepted, reply }) => accepted ?? reply)).toEqual([
      true,
      true,
      '3',
      '4',
    ]);
    const [unread, all] = outputs(items, 'subagent_mailbox').map((box) =>
      box.items.map((mail: { mail_id: string; unread: boolean }) => [mail.mail_id, mail.unread]),
    );
    expect(unread).toEqual([
      ['mail-2', true],
      ['mail-1', true],
    ]);
    expect(all).toEqual([
      ['mail-4', false],
      ['mail-3', false],
      ['mail-2', true],
      ['mail-1', false],
    ]);
    expect(outputs(items, 'subagent_read')).toMatchObject([{ body: '1', token_usage: { total_tokens: 15 } }]);
    // Those two were waited for.
    expect(heard(items).filter((text) => text.startsWith('notice'))).toHaveLength(2);
    expect(heard(await session.items('default-1'))).toEqual(['answer', 'one', 'two', 'three', 'four']);
    for (const name of ['root', 'default-1']) expect(await runsOf(session, name)).toBeGreaterThan(1);
  });

  test('keeps count of the tokens: a share ends at the same step as in one run', async () => {
    const session = await own().worker.start({
      limits: { max_tokens: 10_000, max_child_tokens: 7 * 15 + 6 },
      script: lines({
        root: [spawn('x'), ...Array.from({ length: 3 }, () => call('look')), waitForAll, say('ok')],
        'default-1': [...Array.from({ length: 6 }, () => call('look')), say('handed back')],
      }),
      tools: { look: () => 'a file' },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    expect(await session.status('default-1')).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('Handed back: handed back'),
      step: 7,
      usage: { total_tokens: 7 * 15 },
    });
    for (const name of ['root', 'default-1']) expect(await runsOf(session, name)).toBeGreaterThan(1);
  });

  test('loses, doubles and reorders none of the inputs that come all the while', async () => {
    const session = await own().worker.start({
      script: ({ step }) => (step % 3 === 2 ? say(`step ${step}`) : call('look')),
      tools: { look: () => 'a file' },
    });
    const sent: string[] = [];
    for (let n = 0; n < 90; n++) {
      sent.push(`input ${n}`);
      await session.send({ message: `input ${n}`, id: `id-${n}` });
      if (n % 7 === 0) await session.send({ message: 'again', id: `id-${n}` });
    }
    await session.until('root', ({ is_final, queued }) => is_final && queued !== true);
    expect(heard(await session.items())).toEqual(['the task', ...sent]);
    expect(await runsOf(session)).toBeGreaterThan(1);
    await session.send({ message: 'again', id: 'id-0' });
    await session.send({ message: 'the end' });
    const untilLast = async () => expect(heard(await session.items()).at(-1)).toBe('the end');
    await eventually(untilLast);
    expect(heard(await session.items())).toEqual(['the task', ...sent, 'the end']);
  });

  test('takes what another agent sends in the order in which it was sent', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [
          spawn('x'),
          ...Array.from({ length: 3 }, (_, part) => ({
            calls: numbered(5, `input ${part}`).map((message) => ({
              name: 'send_input',
              args: { id: 'default-1', message },
            })),
          })),
          wait(['default-1']),
          say('ok'),
        ],
        'default-1': Array.from({ length: 200 }, (_, step) => (step % 2 === 0 ? call('look') : say('x'))),
      }),
      tools: { look: () => 'a file' },
    });
    await session.untilFinal();
    await session.untilFinal('default-1');
    const expected = Array.from({ length: 3 }, (_, part) => numbered(5, `input ${part}`)).flat();
    expect(heard(await session.items('default-1'))).toEqual(['x', ...expected]);
    expect(await runsOf(session)).toBeGreaterThan(2);
  });

  test('does not stand still because a client has it do something that takes long', async () => {
    const gate = new Gate();
    const session = await own().worker.start({
      script: ({ step }) => (step < 12 ? call('look') : say('done')),
      tools: { look: () => 'a file', act: () => gate.opened.then(() => 'made') },
    });
    const operation = await session.call('act');
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', step: 13 });
    expect(await runsOf(session)).toBe(1);
    gate.open();
    expect(await session.outcomeOf(operation)).toMatchObject({ success: true, output: 'made' });
    await eventually(async () => expect(await runsOf(session)).toBe(2));
  });

  test('does so while idle, too, and stays as it was', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok'), say('again')],
        'default-1': [say('done'), say('more')],
      }),
    });
    await session.untilFinal();
    await session.send('once more', 'default-1');
    await session.untilFinal('default-1', 2);
    for (const note of numbered(20, 'note'))
      await session.agent().executeUpdate('set_note', { args: [{ note }] });
    expect(await runsOf(session)).toBeGreaterThan(1);
    expect(await session.status()).toMatchObject({
      status: 'completed',
      message: 'ok',
      note: 'note 19',
      turn: 1,
    });
    expect((await session.tree()).agents).toHaveLength(2);
    await session.send('and you?');
    await session.untilFinal('root', 2);
    expect(heard(await session.items()).map((text) => text.slice(0, 13))).toEqual([
      'the task',
      'notice: agent',
      'and you?',
    ]);
  });
});

describe.concurrent('a one-shot root that waits for those below', () => {
  const takeNotes = async (session: ScriptedSession) => {
    for (const note of numbered(20, 'note'))
      await session.agent().executeUpdate('set_note', { args: [{ note }] });
    expect(await runsOf(session)).toBeGreaterThan(1);
  };
  const start = async (answer: Say) => {
    const gate = new Gate();
    const session = await own().worker.start({
      session: { one_shot: true },
      script: lines({
        root: [spawn('x'), answer, say('with what they found')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await takeNotes(session);
    const view = await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    expect(view).toMatchObject({ status: 'running', turn: 1 });
    return { session, gate };
  };

  test('goes on waiting, and takes one more turn then', async () => {
    const { session, gate } = await start(say('I leave it to them'));
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'with what they found' });
    expect(session.asked()).toHaveLength(3);
    expect((await session.status()).turn).toBe(2);
  });

  test('goes on waiting after its turn has failed, and is errored then', async () => {
    const { session, gate } = await start({ fail: { code: 'model_refused', message: '401' } });
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'errored', output: '401' });
    expect(await session.eventsOf('warning')).toHaveLength(1);
    expect(session.asked()).toHaveLength(2);
  });
});

describe.concurrent('what comes while an agent is about to continue as new', () => {
  /** A child in a tool call, in the last run that holds it, with a report under way that takes a second. */
  async function aboutToContinue(
    last: Script = never,
  ): Promise<{ session: ScriptedSession; go: () => void }> {
    const gate = new Gate();
    const session = await own().worker.start({
      script: lines({
        root: [spawn('x'), say('ok')],
        'default-1': [
          ...Array.from({ length: 4 }, () => call('look')),
          call('act'),
          // On a slow machine what comes comes in several turns.
          ...Array.from({ length: 160 }, () => last),
        ],
      }),
      tools: { look: () => 'a file', act: () => gate.opened.then(() => 'done') },
    });
    await session.until('default-1', ({ current_tool }) => current_tool === 'act');
    const child = session.agent('default-1');
    for (const note of [...numbered(8, 'note'), 'dawdling']) {
      await child.executeUpdate('set_note', { args: [{ note }] });
    }
    return { session, go: () => gate.open() };
  }
  const untilActed = (session: ScriptedSession) =>
    session.until('default-1', ({ current_tool }) => current_tool === undefined);

  test.each([0, 200])('shuts it down all the same, %i ms after the tool', async (delay) => {
    const { session, go } = await aboutToContinue();
    go();
    await untilActed(session);
    await new Promise((resolve) => setTimeout(resolve, delay));
    await session.agent('default-1').signal('shutdown');
    expect(await session.agent('default-1').result()).toMatchObject({ status: 'shutdown' });
    expect(await runsOf(session, 'default-1')).toBeGreaterThan(1);
  });

  test('is more than a new run can be given: it goes on in this one, and takes it all', async () => {
    const { session, go } = await aboutToContinue(() => say('heard'));
    // Random text, since nothing else stays as large on its way.
    const texts = numbered(4, 'text').map((text) => `${text} ${randomBytes(600_000).toString('base64')}`);
    go();
    await untilActed(session);
    for (const text of texts) await session.send(text, 'default-1');
    const untilHeard = async () => expect(heard(await session.items('default-1'))).toHaveLength(1 + 4);
    await eventually(untilHeard);
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'completed', message: 'heard' });
    expect(heard(await session.items('default-1')).slice(1)).toEqual(texts);
  });

  test.each([0, 100, 400])(
    'is a burst of 150 inputs, %i ms after the tool: each is delivered once, in order',
    async (delay) => {
      const { session, go } = await aboutToContinue(() => say('heard'));
      go();
      await untilActed(session);
      await new Promise((resolve) => setTimeout(resolve, delay));
      expect(await burst(session, 'default-1')).toBe(BURST);
      const untilHeard = async () =>
        expect(heardOfBurst(await session.items('default-1'))).toHaveLength(BURST);
      await eventually(untilHeard);
      await session.untilFinal('default-1');
      const expected = await arrived(own().worker, session, 'default-1');
      expect(expected).toHaveLength(BURST);
      expect(heardOfBurst(await session.items('default-1'))).toEqual(expected);
      expect(await runsOf(session, 'default-1')).toBeGreaterThan(1);
    },
  );

  test.each([0, 200])('interrupts it all the same, %i ms after the tool', async (delay) => {
    const { session, go } = await aboutToContinue();
    go();
    await untilActed(session);
    await new Promise((resolve) => setTimeout(resolve, delay));
    await session.agent('default-1').signal('interrupt');
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted', turn: 1 });
    expect(await runsOf(session, 'default-1')).toBeGreaterThan(1);
  });

  test.each([0, 200])(
    'stops its turn for an input with interrupt, then takes the input, %i ms after the tool',
    async (delay) => {
      const { session, go } = await aboutToContinue(({ turn }) => (turn === 1 ? never() : say('this then')));
      go();
      await untilActed(session);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await session.send({ message: 'rather this', interrupt: true }, 'default-1');
      expect(await session.untilFinal('default-1', 2)).toMatchObject({ status: 'completed', turn: 2 });
      expect(heard(await session.items('default-1'))).toEqual([
        'x',
        'notice: The turn was interrupted: interrupted by new input',
        'rather this',
      ]);
      expect(await runsOf(session, 'default-1')).toBeGreaterThan(1);
    },
  );
});

describe.concurrent('an agent whose tool calls only wait', () => {
  /** Things happen to the agent, none of which ends a wait, until it has gone on in a new run so often. */
  const untilRuns = async (session: ScriptedSession, count: number, name = 'root') => {
    for (let n = 0; (await runsOf(session, name)) < count; n++) {
      await session.agent(name).executeUpdate('set_note', { args: [{ note: `note ${n}` }] });
    }
  };
  const guarded = (done: string[]) => ({
    act: ({ approved, agent }: { approved: boolean; agent: string }) => {
      if (!approved) {
        const needs_approval = { kind: 'command' as const, summary: 'act', reason: 'it acts', key: 'act' };
        return { output: '', success: false, needs_approval };
      }
      done.push(agent);
      return 'done';
    },
  });

  const looks = async (session: ScriptedSession, name = 'root') => {
    const { events } = await session.agent(name).fetchHistory();
    return (events ?? []).filter(
      ({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === 'find_ended',
    ).length;
  };

  test('learns in a later run that an agent was terminated: the wait ends, the slot is free, and it settles', {
    timeout: 240_000,
  }, async () => {
    const session = await own().worker.start({
      session: { one_shot: true },
      limits: { max_threads: 1 },
      script: lines({
        root: [
          spawn('dies'),
          waitForAll,
          spawn('lives'),
          wait(['default-2']),
          ({ items }) => say(JSON.stringify(outputs(items, 'wait'))),
        ],
        'default-1': [never],
        'default-2': [say('lived')],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await untilRuns(session, 3);
    await eventually(async () => expect(await looks(session)).toBe(1));
    await session.agent('default-1').terminate('by a person');
    const { status, output } = await session.result();
    expect(status).toBe('completed');
    expect(JSON.parse(output)).toEqual([
      { status: { [session.idOf('default-1')]: { errored: 'ended from outside' } }, timed_out: false },
      { status: { [session.idOf('default-2')]: { completed: 'lived' } }, timed_out: false },
    ]);
    expect(await session.eventsOf('agent.wait.end')).toHaveLength(2);
  });

  test('learns of it at once where it goes on in a new run, also below the root', async () => {
    const session = await own().worker.start({
      session: { one_shot: true },
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('lead'), waitForAll, say('ok')],
        'default-1': [spawn('dies'), waitForAll, ({ items }) => say(JSON.stringify(outputs(items, 'wait')))],
        'default-1/default-1': [never],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'agents');
    await untilRuns(session, 2, 'default-1');
    await session.agent('default-1/default-1').terminate('by a person');
    const over = (async () => {
      for (let n = 0; (await session.status('default-1')).waiting_for === 'agents'; n++) {
        await session.agent('default-1').executeUpdate('set_note', { args: [{ note: `again ${n}` }] });
      }
    })();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    await over.catch(() => {});
    const { message = '' } = await session.status('default-1');
    expect(message).toContain('ended from outside');
  });

  test('does not look for those that do nothing', async () => {
    const session = await own().worker.start({
      script: lines({ root: [spawn('idle'), waitForAll, say('ok')], 'default-1': [say('done')] }),
    });
    await session.untilFinal();
    await untilRuns(session, 3);
    expect(await looks(session)).toBe(0);
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', closed: false });
  });

  test('goes on in new runs, and waits on: a wait is told once, and answered with what came', async () => {
    const go = new Gate();
    const session = await own().worker.start({
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('slow', 'quick'),
          {
            calls: [
              { name: 'look' },
              { name: 'wait', args: { ids: ['default-1', 'default-2'], mode: 'all' } },
            ],
          },
          ({ items }) => say(JSON.stringify(outputs(items, 'wait'))),
        ],
        'default-1': [() => go.opened.then(() => say('slow'))],
        'default-2': [say('quick')],
      }),
      tools: { look: () => 'a file' },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await untilRuns(session, 4);
    expect(await session.status()).toMatchObject({ status: 'running', waiting_for: 'agents', step: 2 });
    go.open();
    const { output } = await session.result();
    expect(JSON.parse(output)).toEqual([
      {
        status: {
          [session.idOf('default-1')]: { completed: 'slow' },
          [session.idOf('default-2')]: { completed: 'quick' },
        },
        timed_out: false,
      },
    ]);
    expect(await session.eventsOf('agent.wait.begin')).toHaveLength(1);
    expect(await session.eventsOf('agent.wait.end')).toHaveLength(1);
    expect(await session.eventsOf('tool.begin')).toHaveLength(4);
    expect(outputs(await session.items(), 'look')).toEqual(['a file']);
  });

  test('runs sub-agents of the named dialect across new runs: each is started, told of and answered once', async () => {
    const go = new Gate();
    const session = await own().worker.start({
      session: { one_shot: true },
      script: lines({
        root: [
          {
            calls: ['slow', 'quick'].map((task) => ({
              name: 'subagent_run',
              args: { name: 'writer', task },
            })),
          },
          ({ items }) => say(JSON.stringify(outputs(items, 'subagent_run'))),
        ],
        'writer-1': [() => go.opened.then(() => say('slow'))],
        'writer-2': [say('quick')],
      }),
    });
    await session.untilFinal('writer-2');
    await untilRuns(session, 4);
    expect(await session.status()).toMatchObject({ status: 'running', waiting_for: 'agents', step: 1 });
    go.open();
    const { output } = await session.result();
    expect(JSON.parse(output)).toMatchObject([{ output: 'slow' }, { output: 'quick' }]);
    expect(await session.eventsOf('subagent.start')).toHaveLength(2);
    expect(await session.eventsOf('subagent.end')).toHaveLength(2);
    expect((await session.tree()).agents).toHaveLength(3);
  });

  test('goes on asking a session across new runs: it is sent its message once, and told of once', async () => {
    const go = new Gate();
    const session = await own().worker.start({
      session: { one_shot: true },
      script: lines({
        root: [
          call('agent_open', { prompt: 'first', name: 'one' }),
          call('agent_eval', { name: 'one' }),
          call('agent_eval', { name: 'one', message: 'second' }),
          ({ items }) => say(JSON.stringify(outputs(items, 'agent_eval'))),
        ],
        one: [say('begun'), ({ items }) => go.opened.then(() => say(heard(items).join('; ')))],
      }),
    });
    await session.until('root', ({ step, waiting_for }) => step === 3 && waiting_for === 'agents');
    await untilRuns(session, 4);
    expect(await session.status()).toMatchObject({ status: 'running', waiting_for: 'agents', step: 3 });
    go.open();
    const { output } = await session.result();
    expect(JSON.parse(output)).toMatchObject([
      { status: 'completed', message: 'begun' },
      { status: 'completed', message: 'first; second', context_mode: 'fresh' },
    ]);
    expect(await session.eventsOf('agent.input.begin')).toHaveLength(1);
    expect(await session.eventsOf('agent.wait.end')).toHaveLength(2);
    expect(heard(await session.items()).filter((text) => text.startsWith('notice'))).toEqual([]);
  });

  test('has its slot lent all the while, and takes it back once', async () => {
    const go = new Gate();
    const session = await own().worker.start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('lead'), waitForAll, say('ok')],
        'default-1': [
          spawn('one', 'two'),
          { calls: [1, 2].map((n) => ({ name: 'wait', args: { ids: [`default-1/default-${n}`] } })) },
          say('both'),
        ],
        'default-1/default-1': [() => go.opened.then(() => say('one'))],
        'default-1/default-2': [say('two')],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'agents');
    await untilRuns(session, 3, 'default-1');
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
    go.open();
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    expect((await session.tree()).slots).toEqual({ used: 0, max: 1 });
    expect(await session.status('default-1')).toMatchObject({ message: 'both', step: 3 });
  });

  test.each(['root', 'default-1'])(
    'asks a person once, and does what was allowed once: %s',
    async (asker) => {
      const done: string[] = [];
      const cast = { root: [spawn('x'), waitForAll, say('ok')], 'default-1': [say('ok')] };
      const session = await own().worker.start({
        tools: guarded(done),
        script: lines({ ...cast, [asker]: [call('act'), say('ok')] }),
      });
      await session.until(asker, ({ waiting_for }) => waiting_for === 'approval');
      const approvals = () => session.agent().query<{ approvals: { approval_id: string }[] }>('approvals');
      const [asked] = await eventually(async () => {
        const pending = (await approvals()).approvals;
        expect(pending).toHaveLength(1);
        return pending;
      });
      await untilRuns(session, 3, asker);
      await untilRuns(session, 3);
      expect((await approvals()).approvals).toEqual([asked]);
      expect(await session.status(asker)).toMatchObject({ status: 'running', waiting_for: 'approval' });
      expect(done).toEqual([]);
      const decision = { approval_id: asked?.approval_id, decision: 'approve' };
      await session.agent().executeUpdate('decide_approval', { args: [decision] });
      expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
      expect(done).toEqual([asker]);
      const requested = (await session.events(asker)).filter(({ type }) => type === 'approval.requested');
      expect(requested).toHaveLength(1);
    },
  );

  test('hears a decision that comes just when it moves to a new run', async () => {
    const done: string[] = [];
    const sessions = await Promise.all(
      Array.from({ length: 6 }, () =>
        own().worker.start({
          tools: guarded(done),
          script: lines({
            root: [spawn('x'), waitForAll, say('ok')],
            'default-1': [call('act'), say('ok')],
          }),
        }),
      ),
    );
    // Each with one event more in its history when the decision comes: for one of them it comes with the event that
    // makes the history long enough.
    await Promise.all(
      sessions.map(async (session, n) => {
        await session.until('default-1', ({ waiting_for }) => waiting_for === 'approval');
        const child = session.agent('default-1');
        const events = async () => Number((await child.describe()).historyLength);
        while ((await events()) < EVENTS - 8 + n) await child.signal('interrupt', { reason: 5 });
        const decision = { approval_id: `${session.idOf('default-1')}#p1`, decision: 'approve' };
        await session.agent().executeUpdate('decide_approval', { args: [decision] });
      }),
    );
    for (const session of sessions) {
      expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    }
    expect(done).toHaveLength(sessions.length);
  });

  test('starts an agent in the folder that was asked about, whatever is there by now', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [call('spawn_agent', { message: 'x', working_directory: '/link' }), say('ok')],
        'default-1': [say('ok')],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'approval');
    await untilRuns(session, 3);
    const decision = { approval_id: `${session.idOf('root')}#p1`, decision: 'approve' };
    await session.agent().executeUpdate('decide_approval', { args: [decision] });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    expect(await session.status('default-1')).toMatchObject({ working_directory: '/place/1' });
  });

  test('is interrupted in a later run as in the first: no call stays without an output, no question stays', async () => {
    const done: string[] = [];
    const session = await own().worker.start({
      tools: guarded(done),
      script: lines({ root: [call('act'), say('afterwards')] }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'approval');
    await untilRuns(session, 3);
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', message: 'enough' });
    expect(await session.agent().query('approvals')).toEqual({ approvals: [] });
    expect(outputs(await session.items(), 'act')).toHaveLength(1);
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ message: 'afterwards' });
    expect(done).toEqual([]);
  });

  test('tells the end of what it waited for also when it is interrupted just as it moves to a new run', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 8 }, () =>
        own().worker.start({
          script: lines({
            root: [
              { calls: [{ name: 'subagent_run', args: { name: 'writer', task: 'x' } }] },
              say('afterwards'),
            ],
            'writer-1': [never],
          }),
        }),
      ),
    );
    await Promise.all(
      sessions.map(async (session, n) => {
        await session.until('writer-1', ({ waiting_for }) => waiting_for === 'model');
        const root = session.agent();
        const events = async () => Number((await root.describe()).historyLength);
        while ((await events()) < EVENTS - 8 + n) await root.signal('interrupt', { reason: 5 });
        await root.signal('interrupt', { reason: 'enough' });
      }),
    );
    for (const session of sessions) {
      expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', message: 'enough' });
      const types = (await session.events()).map(({ type }) => type);
      const count = (wanted: string) => types.filter((type) => type === wanted).length;
      expect([count('tool.begin'), count('tool.end')]).toEqual([1, 1]);
      expect([count('subagent.start'), count('subagent.end')]).toEqual([1, 1]);
      expect(outputs(await session.items(), 'subagent_run')).toHaveLength(1);
    }
  });

  test('waits no longer than it would have in one run', async () => {
    const session = await own().worker.start({
      script: lines({
        root: [
          spawn('x'),
          wait(['default-1'], { timeout_ms: 15_000 }),
          ({ items }) => say(String(outputs(items, 'wait').at(-1)?.timed_out)),
        ],
        'default-1': [never],
      }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    await untilRuns(session, 3);
    expect(await session.untilFinal()).toMatchObject({ message: 'true' });
    const [begin] = await session.eventsOf('agent.wait.begin');
    const [end] = await session.eventsOf('agent.wait.end');
    const took = Date.parse(end?.at ?? '') - Date.parse(begin?.at ?? '');
    expect(took).toBeGreaterThan(14_000);
    expect(took).toBeLessThan(35_000);
  });
});
