import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { CadreClient, Rollouts } from '../../client/index.ts';
import { type AgentId, type AgentSettings, newRootId, type RolloutBody } from '../../protocol/index.ts';
import { heard, lines, type Say, say, spawnAs, waitForAll } from '../workflows/script.ts';
import { withWorker } from '../workflows/with-worker.ts';

/** The server takes its time to forget what has just closed: half a minute is usual. */
const GONE_WITHIN_MS = 150_000;
vi.setConfig({ testTimeout: 360_000 });

const worker = withWorker();
let cadre: CadreClient;
let stateDir = '';
let rollouts: Rollouts;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(() => cadre.close());
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'cadre-test-'));
  rollouts = new Rollouts({ stateDir });
});
const forgottenIds: AgentId[] = [];
afterEach(() => {
  rmSync(stateDir, { recursive: true, force: true });
  // What was deleted has no history to look at.
  for (const id of forgottenIds.splice(0)) worker().forget(id);
});

const POET: Partial<AgentSettings> = {
  model: 'another',
  sandbox_mode: 'read-only',
  tool_policy: { allow: [['look']], deny: ['act'] },
};

/** A root with a child below and another one that was closed before; Temporal keeps none of them. */
async function forgotten(
  root: Say[] = [],
  at: Rollouts | 'nowhere' = rollouts,
  inputs: readonly string[] = [],
) {
  const session = await worker().start({
    roles: { poet: POET },
    limits: { max_tokens: 200 },
    script: lines({
      root: [spawnAs('poet'), waitForAll, say('first'), ...root],
      'poet-1': [say('child done'), say('child again')],
    }),
    session: { rollout: true, search_attributes: ['Unheard'] },
    search_attributes: [],
    ...(at === 'nowhere' ? {} : { rollouts: at }),
  });
  forgottenIds.push(session.id);
  const agent = cadre.get(session.id);
  await agent.wait();
  for (const input of inputs) {
    await agent.send(input);
    await agent.wait();
  }
  await agent.setNote('keep me');
  const before = (await agent.items()).items;
  await agent.close();
  await remove(session.id);
  return { session, root: agent, child: cadre.get(session.idOf('poet-1')), before };
}

/** The id of a fork that is played by what is left of the session's script. */
function forkId(session: { id: AgentId }): AgentId {
  const id = newRootId(Date.now(), Math.random);
  worker().playAs(id, session.id);
  return id;
}

async function remove(id: AgentId): Promise<void> {
  const listed = async () =>
    (await cadre.list({ all: true, session: id })).filter((each) => each.closed).length;
  await expect.poll(listed, { timeout: 30_000 }).toBe(2);
  await cadre.remove(id);
  for (const agent of [id, `${id}/poet-1` as AgentId]) {
    const gone = () =>
      cadre
        .get(agent)
        .describe()
        .catch((error) => error.code);
    await expect.poll(gone, { timeout: GONE_WITHIN_MS }).toBe('agent_not_found');
  }
}

test('a root that Temporal keeps no longer goes on where it was, with those that were open below it', async () => {
  const { session, root, child, before } = await forgotten([say('second')]);
  expect(await root.resume({ recursive: true, rollouts })).toMatchObject({
    status: 'completed',
    message: 'first',
    resumed: [root.id, child.id],
    not_resumed: [],
  });
  expect((await root.items()).items).toEqual(before);
  expect(await root.status()).toMatchObject({ closed: false, note: 'keep me', turn: 1 });
  await root.send('go on');
  expect(await root.wait()).toMatchObject({ message: 'second', turn: 2 });
  expect(heard((await root.items()).items)).toContain('go on');
  await child.send('again');
  expect(await child.wait()).toMatchObject({
    message: 'child again',
    role: 'poet',
    model: 'another',
    depth: 1,
  });
  const { settings } = session.asked('poet-1').at(-1) ?? {};
  expect(settings).toMatchObject(POET);
});

test('what remains of the budget is what it has left', async () => {
  const { root } = await forgotten(Array.from({ length: 13 }, () => say('on and on')));
  await root.resume({ rollouts });
  // Four calls of 15 tokens are spent of 200: nine more would fit, and thirteen if those were forgotten.
  const statuses: string[] = [];
  while (statuses.length < 10 && statuses.at(-1) !== 'errored') {
    await root.send('go on');
    statuses.push((await root.wait())?.status ?? '');
  }
  expect(statuses[0]).toBe('completed');
  expect(statuses.at(-1)).toBe('errored');
  expect(
    (await root.tree()).agents.reduce((sum, { usage }) => sum + usage.total_tokens, 0),
  ).toBeLessThanOrEqual(200);
  expect(await root.status()).toMatchObject({ message: expect.stringMatching(/token/i) });
});

test('a conversation that Temporal keeps no longer is forked from the rollout: whole, before a message, a child', async () => {
  const { session, root, child, before } = await forgotten([say('second'), say('third')], rollouts, [
    'go on',
  ]);
  await expect(root.fork()).rejects.toMatchObject({ code: 'agent_not_found' });
  const whole = await root.fork({ id: forkId(session), rollouts, input: 'and then?' });
  expect(whole).toMatchObject({ context_mode: 'forked', items_carried: before.length });
  expect(await whole.wait()).toMatchObject({
    message: 'third',
    depth: 0,
    task: 'and then?',
    model: 'scripted',
  });
  expect((await whole.items()).items.slice(0, before.length)).toEqual(before);

  const second = before.findLastIndex((item) => item.type === 'user_message');
  const part = await root.fork({ id: forkId(session), rollouts, beforeMessage: 2 });
  expect(part).toMatchObject({ context_mode: 'forked', items_carried: second });
  expect((await part.items()).items).toEqual(before.slice(0, second));
  const none = await root.fork({ id: forkId(session), rollouts, beforeMessage: 1 });
  expect(none).toMatchObject({ context_mode: 'fresh', items_carried: 0 });
  expect(await none.status()).toMatchObject({ task: '' });
  await expect(root.fork({ rollouts, beforeMessage: 3 })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('2 user messages'),
  });

  const below = await child.fork({ id: forkId(session), rollouts });
  expect(heard((await below.items()).items)).toEqual(['x']);
  expect(await below.status()).toMatchObject({
    role: 'poet',
    model: 'another',
    depth: 0,
  });
  // All that it comes from is as it was.
  expect((await rollouts.find(session.id))?.agents).toEqual([root.id, child.id]);
  await expect(root.status()).rejects.toMatchObject({ code: 'agent_not_found' });
});

test('a child that only the rollout has is forked while its root is open', async () => {
  const { session, root, child } = await forgotten();
  await root.resume({ rollouts });
  expect(await child.fork({ id: forkId(session), rollouts })).toMatchObject({ context_mode: 'forked' });
});

test('without a rollout nothing comes back', async () => {
  const { root } = await forgotten([], 'nowhere');
  await expect(root.resume({ rollouts })).rejects.toMatchObject({ code: 'agent_not_found' });
});

test('where the worker has not the rollout that the client has, the agent ends with the reason', async () => {
  const { root, session } = await forgotten();
  const elsewhere = new Rollouts({ stateDir: join(stateDir, 'elsewhere') });
  const found = await rollouts.find(session.id);
  if (found === undefined) throw new Error('it is not there');
  await elsewhere.write(found.header, found.body());
  await rollouts.remove(session.id);
  await expect(root.resume({ rollouts: elsewhere })).rejects.toMatchObject({
    code: 'agent_not_resumable',
    message: expect.stringContaining('keeps'),
  });
  // It is tried again from where it was.
  await rollouts.write(found.header, bodyIn(elsewhere, session.id));
  expect(await root.resume({ rollouts: elsewhere })).toMatchObject({ message: 'first' });
});

async function* bodyIn(from: Rollouts, id: Parameters<Rollouts['find']>[0]): AsyncGenerator<RolloutBody> {
  const rollout = await from.find(id);
  if (rollout !== undefined) yield* rollout.body();
}

test('a child that only the rollout has comes back below its open root, and stays in the next rollout until then', async () => {
  const { root, child, session } = await forgotten();
  await root.resume({ rollouts });
  await root.close();
  expect((await rollouts.find(session.id))?.agents).toEqual([root.id, child.id]);
  await root.resume({ rollouts });
  expect(await child.resume({ rollouts })).toMatchObject({ resumed: [child.id], message: 'child done' });
  expect(heard((await child.items()).items)).toEqual(['x']);
});

test('a session that was ended from outside is exported from what Temporal keeps of it', async () => {
  const session = await worker().start({
    script: lines({ root: [spawnAs('default'), waitForAll, say('first')], '*': [say('done')] }),
    session: { rollout: true },
    rollouts,
  });
  await cadre.get(session.id).wait();
  await session.agent().terminate('by a person');
  const { body } = await cadre.export(session.id, rollouts);
  const agents: RolloutBody[] = [];
  for await (const line of body) if (line.type === 'agent') agents.push(line);
  expect(agents).toMatchObject([
    { status: 'completed', closed: false, open_children: [session.idOf('default-1')] },
    { status: 'completed' },
  ]);
  expect(rollouts.pathOf(session.id)).toBeUndefined();
});

test('export reads an open session, a closed one, and from the rollout one that is gone', async () => {
  const texts = async () => {
    const { header, body } = await cadre.export(session.id, rollouts);
    const lines: string[] = [];
    for await (const line of body) lines.push(JSON.stringify(line));
    return { header, lines };
  };
  const { session, root } = await forgotten();
  const gone = await texts();
  await root.resume({ rollouts, recursive: true });
  const open = await texts();
  expect(open.lines.length).toBeGreaterThan(gone.lines.length);
  await root.close();
  const closed = await texts();
  const written = await rollouts.find(session.id);
  const lines: string[] = [];
  for await (const line of written?.body() ?? []) lines.push(JSON.stringify(line));
  expect(closed.lines).toEqual(lines);
  expect({ ...closed.header, written_at: '' }).toEqual({ ...gone.header, written_at: '' });
});
