import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { ended } from '../workflows/client-requests.ts';
import { type Connections, connect, disconnect } from '../workflows/connect.ts';
import { deepSession } from '../workflows/deep-session.ts';
import { eventually } from '../workflows/eventually.ts';
import type { ScriptedSession } from '../workflows/scripted-session.ts';
import { ScriptedWorker } from '../workflows/scripted-worker.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
let cadre: CadreClient;
let connections: Connections;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
  connections = await connect();
});
afterAll(async () => {
  await cadre.close();
  await disconnect(connections);
});

const idsOf = (session: ScriptedSession) => ['default-1', 'default-1/default-1'].map((n) => session.idOf(n));

async function orphaned(): Promise<ScriptedSession> {
  const session = await deepSession(worker());
  await session.agent().terminate('by a person');
  return session;
}

test('what runs below an ended root is listed as orphans, and nothing of a session that is whole', async () => {
  const [whole, session] = [await deepSession(worker()), await orphaned()];
  const orphans = async () => (await cadre.list({ orphans: true })).map(({ agent_id: id }) => id);
  await eventually(async () => expect(await orphans()).toEqual(expect.arrayContaining(idsOf(session))));
  expect(await orphans()).not.toContain(whole.idOf('default-1'));
  expect(await cadre.list({ orphans: true, session: session.id, limit: 1 })).toHaveLength(1);
  expect(await cadre.list({ orphans: true, session: whole.id })).toEqual([]);
  for (const { id } of [whole, session]) await cadre.get(id).close();
});

test('an agent that was ended is shown at rest: it waits for nothing, and does nothing', async () => {
  const session = await orphaned();
  const view = await cadre.get(session.id).status();
  expect(view).toMatchObject({ status: 'errored', closed: true, is_final: true });
  expect(view).not.toHaveProperty('waiting_for');
  expect(view).not.toHaveProperty('current_tool');
  await cadre.get(session.id).close();
});

test('the tree of an ended root shows who runs on below it, and who does so no longer', async () => {
  const session = await orphaned();
  const closed = async () => (await cadre.get(session.id).tree()).agents.map((agent) => agent.closed);
  await eventually(async () => expect(await closed()).toEqual([true, false, false]));
  await session.agent('default-1/default-1').terminate('it, too');
  await eventually(async () => expect(await closed()).toEqual([true, false, true]));
  await cadre.get(session.id).close();
});

test('the tree of an agent below the root is what the agent itself answers, until it is ended', async () => {
  const session = await deepSession(worker());
  const child = cadre.get(session.idOf('default-1'));
  const tree = await child.tree();
  expect(tree).toEqual(await session.agent('default-1').query('tree'));
  expect(tree).toMatchObject({ partial: true, agents: [{ closed: false }, { status: 'running' }] });
  await session.agent('default-1').terminate('by a person');
  // The root ends what is left below it.
  await eventually(async () => {
    const { agents } = await child.tree();
    expect(agents).toMatchObject([
      { agent_id: child.id, status: 'errored', closed: true },
      { agent_id: session.idOf('default-1/default-1'), status: 'errored', closed: true },
    ]);
  });
  await cadre.get(session.id).close();
});

test('closing an ended root closes what it has left, leaf first; a second time there is nothing to close', async () => {
  const session = await orphaned();
  const [child, leaf] = idsOf(session);
  await eventually(async () => expect(await cadre.list({ session: session.id })).toHaveLength(2));
  expect(await cadre.get(session.id).close()).toMatchObject({ status: 'errored', closed: [leaf, child] });
  expect(await ended(session, 'default-1')).toBe('COMPLETED');
  await eventually(async () => expect((await cadre.get(session.id).close()).closed).toEqual([]));
});

test('closing an ended root whose worker has gone, too, ends what it has left; a second time it says how it stood', async () => {
  const away = new ScriptedWorker(connections);
  await away.run();
  const session = await deepSession(away);
  await away.stop();
  await session.agent().terminate('by a person');
  const [child, leaf] = idsOf(session);
  await eventually(async () => expect(await cadre.list({ session: session.id })).toHaveLength(2));
  const message = 'ended from outside (terminated)';
  expect(await cadre.get(session.id).close()).toEqual({ status: 'errored', message, closed: [leaf, child] });
  for (const name of ['default-1', 'default-1/default-1']) {
    expect(await ended(session, name)).toBe('TERMINATED');
  }
  await eventually(async () => expect(await cadre.list({ session: session.id })).toEqual([]));
  expect(await cadre.get(session.id).close()).toEqual({ status: 'errored', message, closed: [] });
}, 180_000);

test('of an agent that was ended before it began all say so, and closing it has nothing to close', async () => {
  const settings = { model: 'm', provider: 'p', working_directory: '/tmp' };
  const agent = await cadre.start({ task: 'never', queue: 'nobody-works-for-it', settings });
  await worker().client.workflow.getHandle(agent.id).terminate('by a person');
  const unborn = { code: 'agent_not_resumable', message: expect.stringContaining('before it began') };
  await expect(agent.status()).rejects.toMatchObject(unborn);
  await expect(agent.resume()).rejects.toMatchObject(unborn);
  expect(await agent.close()).toEqual({
    status: 'errored',
    message: expect.stringContaining('before it began'),
    closed: [],
  });
});

test('who closes what is just closing waits for that, and is told what it has closed', async () => {
  const session = await deepSession(worker());
  const [child, leaf] = idsOf(session);
  const handle = cadre.get(session.id);
  const [first, second] = await Promise.all([handle.close(), handle.close()]);
  expect(first.closed).toEqual([leaf, child, session.id]);
  expect(second.closed).toEqual(first.closed);
  for (const name of ['root', 'default-1', 'default-1/default-1']) {
    expect(await ended(session, name)).toBe('COMPLETED');
  }
});

test('closing a root that was deleted closes what it has left; where nothing is left it is not found', async () => {
  const session = await deepSession(worker());
  await worker().client.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: session.id },
  });
  await eventually(() => expect(cadre.get(session.id).describe()).rejects.toThrow());
  await eventually(async () => expect(await cadre.list({ session: session.id })).toHaveLength(2));
  const [child, leaf] = idsOf(session);
  expect((await cadre.get(session.id).close()).closed).toEqual([leaf, child]);
  await eventually(() =>
    expect(cadre.get(session.id).close()).rejects.toMatchObject({ code: 'agent_not_found' }),
  );
  worker().forget(session.id);
});

test('an agent that was ended has a code of its own for whoever waits for its result', async () => {
  const session = await orphaned();
  await expect(cadre.get(session.id).result()).rejects.toMatchObject({
    code: 'ended_from_outside',
    hint: expect.stringContaining(`cadre resume ${session.id} --recursive`),
  });
  await cadre.get(session.id).close();
});

test('a child that was ended before its root closed comes back with it, and what was open below it', async () => {
  const session = await deepSession(worker());
  const root = cadre.get(session.id);
  await session.agent('default-1').terminate('by a person');
  await root.wait();
  await root.close();
  expect(await root.resume({ recursive: true })).toMatchObject({
    resumed: [session.id, ...idsOf(session)],
    not_resumed: [],
  });
  await root.close();
});
