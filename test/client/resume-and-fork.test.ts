import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { type AgentId, newRootId, settledLength, textMessage } from '../../protocol/index.ts';
import { eventually } from '../workflows/eventually.ts';
import { Gate } from '../workflows/gate.ts';
import { call, heard, lines, say, spawn, waitForAll } from '../workflows/script.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
let cadre: CadreClient;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(() => cadre.close());

/** A root with one child, both done and closed. */
async function closedSession() {
  const session = await worker().start({
    script: lines({
      root: [spawn('one'), waitForAll, say('first'), say('second')],
      'default-1': [say('child done'), say('child again')],
    }),
  });
  const root = cadre.get(session.id);
  const child = cadre.get(session.idOf('default-1'));
  await root.wait();
  await root.setNote('keep me');
  await root.close();
  return { session, root, child };
}

test('a closed root goes on where it was: its conversation, its note, and then the input', async () => {
  const { session, root } = await closedSession();
  expect(await root.resume()).toMatchObject({
    status: 'completed',
    message: 'first',
    resumed: [session.id],
    not_resumed: [],
  });
  expect(await root.status()).toMatchObject({ closed: false, note: 'keep me', turn: 1 });
  expect(await root.resume({ input: 'go on' })).toMatchObject({
    resumed: [],
    submission_id: expect.stringMatching(/\S/),
  });
  expect(await root.wait()).toMatchObject({ status: 'completed', message: 'second', turn: 2 });
  expect(heard((await root.items()).items)).toEqual(['the task', 'go on']);
});

test('a root that was brought back is listed with its first start', async () => {
  const { session } = await closedSession();
  const id = newRootId(Date.now(), Math.random);
  worker().playAs(id, session.id);
  const settings = { model: 'scripted', provider: 'script', working_directory: '/tmp' };
  const root = await cadre.start({ task: 'the task', id, queue: worker().queue, settings });
  const listed = () =>
    eventually(async () => {
      const [agent] = await cadre.list({ session: id });
      return agent?.started_at ?? expect.fail('it is not listed');
    });
  const begun = await listed();
  expect(Math.abs(Date.parse(begun) - Date.now())).toBeLessThan(30_000);
  await root.wait();
  await root.close();
  await root.resume();
  expect(await listed()).toBe(begun);
  await root.close();
});

test('without recursive the children stay closed, and with it those, too, that were closed before their root', async () => {
  const { root, child } = await closedSession();
  await root.resume();
  expect(await child.status()).toMatchObject({ closed: true });
  await root.close();
  expect((await root.resume({ recursive: true })).resumed).toEqual([root.id]);
});

test('with recursive the children that closed along with their root come back, and take input', async () => {
  const { root, child } = await closedSession();
  expect((await root.resume({ recursive: true, input: 'x' })).resumed).toEqual([root.id, child.id]);
  await child.send('again');
  expect(await child.wait()).toMatchObject({ status: 'completed', message: 'child again' });
});

test('what does not come back is told apart from what does, each with the reason', async () => {
  const session = await worker().start({
    script: lines({ root: [spawn('one', 'two'), waitForAll, say('first')], '*': [say('done')] }),
  });
  const root = cadre.get(session.id);
  await root.wait();
  await root.close();
  session.past('default-1', { gone: 'before' });
  expect(await root.resume({ recursive: true })).toMatchObject({
    resumed: [root.id, session.idOf('default-2')],
    not_resumed: [{ agent_id: session.idOf('default-1'), error: { code: 'agent_not_found' } }],
  });
  await root.close();
  session.past('default-1', {});
  session.past('default-2', { gone: 'after' });
  // The one that did not come back before had not been open any more.
  expect(await root.resume({ recursive: true })).toMatchObject({
    resumed: [root.id],
    not_resumed: [
      {
        agent_id: session.idOf('default-2'),
        error: { code: 'agent_not_resumable', message: expect.stringContaining('keeps') },
      },
    ],
  });
});

test('a root that cannot be read is refused with the reason, and is neither lost nor forked empty', async () => {
  const { session, root } = await closedSession();
  const before = (await root.items()).items;
  session.past('root', { gone: 'after' });
  await expect(root.resume()).rejects.toMatchObject({
    code: 'agent_not_resumable',
    message: expect.stringContaining('keeps'),
  });
  expect(await root.status()).toMatchObject({ status: 'errored', closed: true, note: 'keep me' });
  session.past('root', {});
  const fork = await root.fork({ id: forkId(session) });
  expect((await fork.items()).items).toEqual(before);
  expect(await root.resume()).toMatchObject({ status: 'completed', message: 'first', resumed: [root.id] });
  expect(await root.status()).toMatchObject({ note: 'keep me' });
});

test('a resume takes as long as the agent needs to read what it was', async () => {
  const { session, root } = await closedSession();
  const gate = new Gate();
  session.past('root', { held: gate.opened });
  const resumed = root.resume();
  // Longer than anybody waits for an answer otherwise.
  await sleep(24_000);
  gate.open();
  expect(await resumed).toMatchObject({ status: 'completed', resumed: [root.id] });
});

test('below a closed root nothing is resumed: the error names the root; below an open one it is', async () => {
  const { root, child } = await closedSession();
  await expect(child.resume()).rejects.toMatchObject({
    code: 'agent_not_resumable',
    hint: expect.stringContaining(`cadre resume ${root.id}`),
  });
  await root.resume();
  expect(await child.resume({ input: 'again' })).toMatchObject({ resumed: [child.id] });
  expect(await child.wait()).toMatchObject({ message: 'child again' });
  expect((await child.resume()).resumed).toEqual([]);
});

test.each([
  ['blank', '  '],
  ['no parts', []],
  ['too large', 'x'.repeat(1_100_000)],
])(
  'with an input that no agent would take (%s) nothing comes back, and nothing is forked or started',
  async (_, input) => {
    const { root } = await closedSession();
    const refused = { code: 'invalid_arguments', message: expect.stringMatching(/^(input|task): /) };
    await expect(root.resume({ input })).rejects.toMatchObject(refused);
    expect(await root.describe()).toMatchObject({ closed: true });
    const id = newRootId(Date.now(), Math.random);
    await expect(root.fork({ id, input })).rejects.toMatchObject(refused);
    const settings = { model: 'm', provider: 'openai', working_directory: '/' };
    await expect(cadre.start({ id, task: input, queue: 'q', settings })).rejects.toMatchObject(refused);
    await expect(cadre.get(id).status()).rejects.toMatchObject({ code: 'agent_not_found' });
  },
);

test('with an output schema that is none nothing is forked', async () => {
  const { root } = await closedSession();
  const id = newRootId(Date.now(), Math.random);
  await expect(root.fork({ id, session: { output_schema: { type: 'bogus' } } })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringMatching(/^session\.output_schema is no valid JSON schema: type must be/),
  });
  await expect(cadre.get(id).status()).rejects.toMatchObject({ code: 'agent_not_found' });
});

test('a root that has closed, and still leaves its rollout, comes back as soon as that is done', async () => {
  const [writes, written] = [new Gate(), new Gate()];
  const session = await worker().start({
    script: lines({ root: [say('first')] }),
    session: { rollout: true },
    beforeRollout: () => {
      writes.open();
      return written.opened;
    },
  });
  const root = cadre.get(session.id);
  await root.wait();
  const closing = root.close();
  await writes.opened;
  expect(await root.status()).toMatchObject({ closed: true });
  const resumed = root.resume();
  written.open();
  await closing;
  expect(await resumed).toMatchObject({ resumed: [session.id], status: 'completed', message: 'first' });
  expect(await root.status()).toMatchObject({ closed: false });
});

test('an agent that never was can neither be resumed nor forked', async () => {
  const agent = cadre.get(newRootId(Date.now(), Math.random));
  await expect(agent.resume()).rejects.toMatchObject({ code: 'agent_not_found' });
  await expect(agent.fork()).rejects.toMatchObject({ code: 'agent_not_found' });
});

/** A root with three turns. */
async function threeTurns() {
  const session = await worker().start({
    tools: { look: () => 'seen' },
    script: lines({
      root: [
        say('answer one'),
        { text: 'I look', calls: [{ name: 'look' }] },
        say('answer two'),
        say('answer three'),
        say('answer four'),
      ],
    }),
  });
  const root = cadre.get(session.id);
  await root.wait();
  for (const text of ['two', 'three']) {
    await root.send(text);
    await root.wait();
  }
  return { session, root };
}

function forkId(session: { id: AgentId }): AgentId {
  const id = newRootId(Date.now(), Math.random);
  worker().playAs(id, session.id);
  return id;
}

test('a fork ends just before the nth user message, and the original stays as it is', async () => {
  const { session, root } = await threeTurns();
  const before = (await root.items()).items;
  const fork = await root.fork({ id: forkId(session), beforeMessage: 3, input: 'another way' });
  expect(await fork.wait()).toMatchObject({
    agent_id: fork.id,
    status: 'completed',
    message: 'answer three',
    depth: 0,
    source: { kind: 'api' },
    task: 'another way',
  });
  expect(heard((await fork.items()).items)).toEqual(['the task', 'two', 'another way']);
  expect((await root.items()).items).toEqual(before);
});

test('without a number the whole conversation is forked, and without an input the fork waits', async () => {
  const { session, root } = await threeTurns();
  await root.close();
  const fork = await root.fork({ id: forkId(session) });
  expect(await fork.status()).toMatchObject({ status: 'pending_init', closed: false, task: 'the task' });
  expect((await fork.items()).items).toEqual((await root.items()).items);
  await fork.send('four');
  expect(await fork.wait()).toMatchObject({ message: 'answer four' });
});

test('a fork says how much of the conversation it was given, and that it begins afresh where that is nothing', async () => {
  const { session, root } = await threeTurns();
  const { total } = await root.items();
  const whole = await root.fork({ id: forkId(session) });
  expect(whole).toMatchObject({ context_mode: 'forked', items_carried: total });
  const [part, none] = [
    await root.fork({ id: forkId(session), beforeMessage: 2 }),
    await root.fork({ id: forkId(session), beforeMessage: 1, input: 'x' }),
  ];
  expect(part).toMatchObject({ context_mode: 'forked', items_carried: 2 });
  expect(part.items_carried).toBe((await part.items()).total);
  expect(none).toMatchObject({ context_mode: 'fresh', items_carried: 0 });
});

test('a fork before the first message begins afresh; one beyond the last is an error that counts them', async () => {
  const { session, root } = await threeTurns();
  const fork = await root.fork({ id: forkId(session), beforeMessage: 1 });
  expect((await fork.items()).items).toEqual([]);
  await expect(root.fork({ beforeMessage: 4 })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('3 user messages'),
  });
  for (const beforeMessage of [0, -1, 1.5]) {
    await expect(root.fork({ beforeMessage })).rejects.toMatchObject({ code: 'invalid_arguments' });
  }
});

test('a fork before a message that a summary has replaced is refused, and told where one may be', async () => {
  const session = await worker().start({
    script: ({ summary, turn }) => say(summary ? 'in short' : `${turn} ${'x'.repeat(20_000)}`),
  });
  const root = cadre.get(session.id);
  await session.untilFinal();
  await root.send('two');
  await session.untilFinal('root', 2);
  await root.compact();
  await root.send('three');
  await session.untilFinal('root', 3);
  await expect(root.fork({ beforeMessage: 2 })).rejects.toMatchObject({
    code: 'invalid_arguments',
    hint: expect.stringContaining('message 3'),
  });
  const fork = await root.fork({ id: forkId(session), beforeMessage: 3 });
  const { items: carried } = await fork.items();
  expect(carried.map(({ type }) => type)).toEqual(['user_message', 'user_message', 'summary']);
  const whole: string[] = [];
  for await (const item of root.wholeConversation()) whole.push(item.type);
  expect(whole).toEqual(Array(3).fill(['user_message', 'assistant_message']).flat());
});

test('an agent may be forked while it works: the unfinished answer stays behind', async () => {
  const gate = new Gate();
  const session = await worker().start({
    tools: { act: () => gate.opened.then(() => 'done') },
    script: lines({ root: [call('act'), say('ok'), say('ok')] }),
  });
  const root = cadre.get(session.id);
  await expect.poll(async () => (await root.items()).items.length, { timeout: 20_000 }).toBe(3);
  const fork = await root.fork({ id: forkId(session) });
  expect((await fork.items()).items).toEqual([textMessage('the task')]);
  gate.open();
  await root.wait();
});

test('the length of a conversation that is settled ends before an answer with open calls', () => {
  const asked = textMessage('x');
  const said = { type: 'assistant_message', text: 'I look' } as const;
  const calls = ['a', 'b'].map(
    (call_id) => ({ type: 'tool_call', call_id, name: 'look', arguments: '{}' }) as const,
  );
  const seen = { type: 'tool_output', call_id: 'a', output: 'seen', success: true } as const;
  expect(settledLength([])).toBe(0);
  expect(settledLength([asked, said])).toBe(2);
  expect(settledLength([asked, said, ...calls])).toBe(1);
  expect(settledLength([asked, said, ...calls, seen])).toBe(1);
  expect(settledLength([asked, said, ...calls, seen, { ...seen, call_id: 'b' }])).toBe(6);
});
