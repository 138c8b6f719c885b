import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import type { AgentView } from '../../protocol/index.ts';
import { Gate } from '../workflows/gate.ts';
import { lines, say, spawn } from '../workflows/script.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
let cadre: CadreClient;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(() => cadre.close());

test('agents() yields each agent of the tree once: those that are there, then those that come', async () => {
  const gate = new Gate();
  const session = await worker().start({
    session: { one_shot: true },
    script: lines({
      root: [spawn('one'), () => gate.opened.then(() => spawn('two')), say('ok'), say('ok')],
      '*': [say('done')],
    }),
  });
  const seen: string[] = [];
  for await (const { agent_id } of cadre.get(session.id).agents()) {
    seen.push(agent_id);
    if (seen.length === 2) gate.open();
  }
  expect(seen).toEqual([session.id, session.idOf('default-1'), session.idOf('default-2')]);
});

test('statuses() yields an agent each time its status changes, until it is closed', async () => {
  const session = await worker().start({ session: { one_shot: true }, script: () => say('ok') });
  const seen: AgentView[] = [];
  for await (const view of cadre.get(session.id).statuses()) seen.push(view);
  expect(seen.at(-1)).toMatchObject({ status: 'completed', message: 'ok', closed: true });
});

test('setNote answers the note as it is kept, and a blank one clears it', async () => {
  const session = await worker().start({ script: () => say('ok') });
  const agent = cadre.get(session.id);
  expect(await agent.setNote('  look here ')).toBe('look here');
  expect((await agent.status()).note).toBe('look here');
  expect(await agent.setNote('   ')).toBeNull();
  expect((await agent.status()).note).toBeUndefined();
});

test('events() tells a program of each change of the note, while the agent is at work', async () => {
  const gate = new Gate();
  const session = await worker().start({
    session: { one_shot: true },
    script: () => gate.opened.then(() => say('ok')),
  });
  const agent = cadre.get(session.id);
  const notes: (string | null)[] = [];
  for await (const event of agent.events({ follow: true })) {
    if (event.type === 'turn.started') await agent.setNote(' look here ');
    if (event.type !== 'agent.note') continue;
    notes.push(event.note);
    expect(event.receiver_id).toBe(agent.id);
    expect((await agent.status()).status).toBe('running');
    if (notes.length === 1) await agent.setNote('  ');
    else gate.open();
  }
  expect(notes).toEqual(['look here', null]);
});

test('a note that is too long is refused with how long it may be, and starts nothing', async () => {
  const settings = { model: 'm', provider: 'p', working_directory: '/tmp' };
  const started = cadre.start({ task: 'x', queue: 'q', settings, note: 'n'.repeat(1_001) });
  await expect(started).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: 'note: too long: 1,001 characters, of 1,000 at most',
  });
});

test('an output schema that is none is refused before anything starts', async () => {
  const settings = { model: 'm', provider: 'p', working_directory: '/tmp' };
  const session = { output_schema: { type: 'object', required: 'a' } };
  const started = cadre.start({ task: 'x', queue: 'q', settings, session });
  await expect(started).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: 'session.output_schema is no valid JSON schema: required must be array.',
  });
});

test('send and wait: the answer is that of the turn which the input started', async () => {
  const session = await worker().start({ script: ({ turn }) => say(`turn ${turn}`) });
  const agent = cadre.get(session.id);
  await agent.wait();
  await agent.send('again');
  expect(await agent.wait()).toMatchObject({ status: 'completed', message: 'turn 2' });
});

test('a wait whose time is up yields nothing, and the agent goes on', async () => {
  const gate = new Gate();
  const session = await worker().start({ script: () => gate.opened.then(() => say('late')) });
  const agent = cadre.get(session.id);
  expect(await agent.wait({ timeoutMs: 300 })).toBeUndefined();
  gate.open();
  expect(await agent.wait()).toMatchObject({ message: 'late' });
});

test('close answers the status before and what was closed; a second time it closes nothing', async () => {
  const session = await worker().start({ script: () => say('ok') });
  const agent = cadre.get(session.id);
  await agent.wait();
  expect(await agent.close()).toEqual({ status: 'completed', message: 'ok', closed: [session.id] });
  expect(await agent.close()).toMatchObject({ status: 'shutdown', closed: [] });
  await expect(agent.send('too late')).rejects.toMatchObject({ code: 'agent_closed' });
});

test('list() has completed agents that are open, and closed ones only when they are asked for', async () => {
  const open = await worker().start({ script: () => say('ok') });
  const closed = await worker().start({ session: { one_shot: true }, script: () => say('ok') });
  await cadre.get(open.id).wait();
  await closed.result();
  const idsOf = async (filter: { all?: boolean }) =>
    (await cadre.list(filter)).map((agent) => agent.agent_id);
  await expect.poll(() => idsOf({}), { timeout: 20_000 }).toContain(open.id);
  await expect.poll(() => idsOf({}), { timeout: 20_000 }).not.toContain(closed.id);
  expect(await idsOf({ all: true })).toContain(closed.id);
});

test('an unknown agent is not found, whatever is asked of it', async () => {
  const agent = cadre.get('a0000000000zz' as AgentView['agent_id']);
  const asked = [
    () => agent.status(),
    () => agent.tree(),
    () => agent.items(),
    () => agent.send('x'),
    () => agent.interrupt(),
    () => agent.close(),
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code: 'agent_not_found' });
});

test('a task and an input that are too large are refused alike, and change nothing', async () => {
  const session = await worker().start({ script: ({ turn }) => say(`turn ${turn}`) });
  const agent = cadre.get(session.id);
  await agent.wait();
  const refusal = { code: 'invalid_arguments', message: expect.stringContaining('too large: 1.20 MB') };
  await expect(agent.send('ä'.repeat(600_000))).rejects.toMatchObject(refusal);
  expect(await agent.status()).toMatchObject({ turn: 1, status: 'completed' });
  const start = cadre.start({
    task: 'ä'.repeat(600_000),
    queue: 'nowhere',
    settings: { model: 'm', provider: 'openai', working_directory: '/' },
  });
  await expect(start).rejects.toMatchObject(refusal);
});
