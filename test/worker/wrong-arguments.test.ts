import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import type { AgentEvent } from '../../protocol/index.ts';
import { Gate } from '../workflows/gate.ts';
import { outputs } from '../workflows/script.ts';
import { type RealSession, withRealWorker } from './real-worker.ts';

const start = withRealWorker();

const text = { type: 'text', text: 'x' };
/** What a model may write for a message, and what the refusal names. */
const WRONG: [name: string, args: Record<string, unknown>, named: RegExp][] = [
  ['both', { message: 'x', items: [text] }, /message or items/],
  ['neither', {}, /message or items/],
  ['a blank message', { message: ' \n\t ' }, /message/],
  ['an empty message', { message: '' }, /message/],
  ['an empty list', { items: [] }, /items/],
  ['a list of nothing but blanks', { items: [{ type: 'text', text: '  ' }] }, /items/],
  ['an unknown field', { message: 'x', mood: 'good' }, /mood/],
  ['an unknown field of a part', { items: [{ ...text, mood: 'good' }] }, /items\.0.*mood/],
  ['a part of no known type', { items: [{ type: 'song', text: 'x' }] }, /items\.0/],
  ['a message that is no text', { message: 7 }, /message/],
  ['items that are no list', { items: 'x' }, /items/],
  ['an interrupt that is no truth value', { message: 'x', interrupt: 'yes' }, /interrupt/],
];

const eventsOf = async (session: RealSession, name: string): Promise<AgentEvent[]> => {
  const events: AgentEvent[] = [];
  for await (const event of session.agent(name).events()) events.push(event);
  return events;
};
const typesOf = async (session: RealSession, name: string) =>
  (await eventsOf(session, name)).map(({ type }) => type);

test('input in any wrong shape is refused as such, and neither an idle receiver nor one at work gets any of it', async () => {
  const [sent, looked] = [new Gate(), new Gate()];
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        { calls: ['idle', 'works'].map((message) => ({ name: 'spawn_agent', arguments: { message } })) },
        { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] },
        {
          calls: ['default-1', 'default-2'].flatMap((id) =>
            // What is right in it, such as the wish to interrupt, has no effect either.
            WRONG.map(([, args]) => ({ name: 'send_input', arguments: { id, interrupt: true, ...args } })),
          ),
        },
        { calls: [{ name: 'send_input', arguments: { message: 'to nobody' } }] },
        async () => {
          sent.open();
          await looked.opened;
          return { calls: [{ name: 'wait', arguments: { ids: ['default-2'] } }] };
        },
        { text: 'ok' },
      ],
      'default-1': [{ text: 'done' }],
      'default-2': [() => looked.opened.then(() => ({ text: 'done' }))],
    },
  });
  await sent.opened;
  const idle = await session.items('default-1');
  expect(idle).toHaveLength(2);
  expect(await session.agent('default-1').status()).toMatchObject({ status: 'completed', turn: 1 });
  expect(await session.agent('default-2').status()).toMatchObject({ status: 'running', turn: 1, step: 1 });
  looked.open();
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });

  const told = outputs(await session.items(), 'send_input');
  expect(told).toHaveLength(2 * WRONG.length + 1);
  for (const [index, { error }] of told.entries()) {
    const [name, , named] = WRONG[index % WRONG.length] as (typeof WRONG)[number];
    const isLast = index === told.length - 1;
    expect(error, isLast ? 'no id' : name).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringMatching(/^failed to parse function arguments: ./),
      hint: expect.stringMatching(/\S/),
    });
    expect(error.message, name).toMatch(isLast ? /id/ : named);
  }
  // The model has read the same, word for word.
  const read = session.requests('root').flatMap((request) => request.outputs);
  for (const refusal of told) expect(read).toContain(JSON.stringify(refusal));

  for (const name of ['default-1', 'default-2']) {
    const types = await typesOf(session, name);
    expect(types.filter((type) => type === 'turn.started')).toHaveLength(1);
    for (const type of ['input.accepted', 'input.rejected', 'turn.interrupted']) {
      expect(types, name).not.toContain(type);
    }
    expect(session.requests(name)).toHaveLength(1);
    expect(await session.items(name)).toHaveLength(2);
  }
  expect(await typesOf(session, 'root')).not.toContain('agent.input.begin');
});

test('a task in any wrong shape is refused as such, and nobody is started', async () => {
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [{ calls: WRONG.map(([, args]) => ({ name: 'spawn_agent', arguments: args })) }, { text: 'ok' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  const told = outputs(await session.items(), 'spawn_agent');
  expect(told).toMatchObject(
    WRONG.map(([, , named]) => ({
      error: {
        code: 'invalid_arguments',
        message: expect.stringMatching(
          new RegExp(`^failed to parse function arguments: .*(${named.source})`, 's'),
        ),
      },
    })),
  );
  const { agents, slots } = await session.root.tree();
  expect(agents).toHaveLength(1);
  expect(slots?.used).toBe(0);
  expect(await typesOf(session, 'root')).not.toContain('agent.spawn.begin');
});

test('a spawn whose note is too long is none of them: the agent has the usual one, and a warning says why', async () => {
  const session = await start({
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        {
          calls: [{ name: 'spawn_agent', arguments: { message: 'x', thread_note: 'y'.repeat(1_001) } }],
        },
        { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] },
        { text: 'ok' },
      ],
      'default-1': [{ text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  expect((await session.agent('default-1').status()).note).toContain('agent_type=default');
  const warnings = (await eventsOf(session, 'root')).filter(({ type }) => type === 'warning');
  expect(warnings).toEqual([
    expect.objectContaining({
      text: expect.stringMatching(/default-1 keeps the usual note.*1,001 characters/),
    }),
  ]);
});
