import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { newRootId } from '../../protocol/index.ts';
import { type Connections, connect, disconnect } from '../workflows/connect.ts';
import { lines, say, spawn, waitForAll } from '../workflows/script.ts';
import { ScriptedWorker } from '../workflows/scripted-worker.ts';

/** The server takes its time to forget what has just closed: half a minute is usual. */
const GONE_WITHIN_MS = 150_000;

let connections: Connections;
let worker: ScriptedWorker;
let cadre: CadreClient;

beforeAll(async () => {
  connections = await connect();
  worker = new ScriptedWorker(connections);
  await worker.run();
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(async () => {
  await worker.stop();
  await cadre.close();
  await disconnect(connections);
});

test('a closed session is removed with all below it and every run; an open one, or a part of one, is not', async () => {
  const session = await worker.start({
    script: lines({ root: [spawn('one'), waitForAll, say('ok')], '*': [say('done')] }),
  });
  const [root, child] = [cadre.get(session.id), cadre.get(session.idOf('default-1'))];
  await root.wait();
  await root.close();
  await root.resume();
  await expect(cadre.remove(root.id)).rejects.toMatchObject({
    code: 'not_permitted',
    hint: expect.stringContaining(`cadre close ${root.id}`),
  });
  await root.close();
  await expect(cadre.remove(child.id)).rejects.toMatchObject({
    code: 'not_permitted',
    hint: expect.stringContaining(`cadre rm ${root.id}`),
  });
  const listed = async () =>
    (await cadre.list({ all: true, session: session.id })).filter((agent) => agent.closed).length;
  await expect.poll(listed, { timeout: 30_000 }).toBe(2);
  expect(await cadre.remove(root.id)).toEqual([root.id, child.id]);
  for (const agent of [root, child]) {
    const found = () => agent.describe().catch((error) => error.code);
    await expect.poll(found, { timeout: GONE_WITHIN_MS }).toBe('agent_not_found');
  }
  await expect.poll(listed, { timeout: GONE_WITHIN_MS }).toBe(0);
}, 360_000);

test('of a session whose root was deleted the rest is removed, once nothing of it runs any more', async () => {
  const session = await worker.start({
    script: lines({ root: [spawn('one'), waitForAll, say('ok')], '*': [say('done')] }),
  });
  const [root, child] = [cadre.get(session.id), cadre.get(session.idOf('default-1'))];
  await root.wait();
  await worker.client.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: root.id },
  });
  await expect.poll(() => root.describe().catch((error) => error.code)).toBe('agent_not_found');
  const listed = async () =>
    (await cadre.list({ all: true, session: session.id })).map(({ agent_id, closed }) => [agent_id, closed]);
  await expect.poll(listed, { timeout: 30_000 }).toEqual([[child.id, false]]);
  await expect(cadre.remove(root.id)).rejects.toMatchObject({
    code: 'not_permitted',
    message: expect.stringContaining(child.id),
  });
  await root.close();
  await expect.poll(listed, { timeout: 30_000 }).toEqual([[child.id, true]]);
  expect(await cadre.remove(root.id)).toEqual([child.id]);
  await expect.poll(listed, { timeout: GONE_WITHIN_MS }).toEqual([]);
  await expect(cadre.remove(root.id)).rejects.toMatchObject({ code: 'agent_not_found' });
  worker.forget(session.id);
}, 360_000);

test('an agent that never was cannot be removed', async () => {
  const id = newRootId(Date.now(), Math.random);
  await expect(cadre.remove(id)).rejects.toMatchObject({ code: 'agent_not_found' });
});
