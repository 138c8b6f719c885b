import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import type { AgentEvent, ApprovalNeed } from '../../protocol/index.ts';
import { call, lines, type ScriptedTool, say, spawn, waitForAll } from '../workflows/script.ts';
import { withWorker } from '../workflows/with-worker.ts';

const worker = withWorker();
let cadre: CadreClient;

beforeAll(async () => {
  cadre = await CadreClient.connect({ address: inject('temporalAddress') });
});
afterAll(() => cadre.close());

const need: ApprovalNeed = { kind: 'command', summary: 'rm -r build', reason: 'it writes', key: 'rm' };
const guarded: ScriptedTool = ({ approved }) =>
  approved ? 'done' : { output: '', success: false, needs_approval: need };

async function asking() {
  const session = await worker().start({
    tools: { act: guarded },
    script: lines({
      root: [spawn('one'), waitForAll, say('ok')],
      'default-1': [call('act'), ({ items }) => say(JSON.stringify(items.at(-1)))],
    }),
  });
  const root = cadre.get(session.id);
  const child = cadre.get(session.idOf('default-1'));
  await expect.poll(async () => (await root.approvals()).length, { timeout: 20_000 }).toBe(1);
  return { root, child };
}

test('the questions of a session are found at its root and at who asks, and what is decided happens', async () => {
  const { root, child } = await asking();
  const [asked] = await root.approvals();
  expect(asked).toMatchObject({ ...need, asking_id: child.id });
  expect(await child.approvals()).toEqual([asked]);
  await cadre.decide(asked?.approval_id ?? '', 'approve');
  expect((await child.wait())?.message).toContain('done');
  expect(await root.approvals()).toEqual([]);
});

test('a denial reaches the model with its reason, and what was decided cannot be decided again', async () => {
  const { root, child } = await asking();
  const [asked] = await root.approvals();
  const id = asked?.approval_id ?? '';
  await cadre.decide(id, 'deny', 'keep the build');
  expect((await child.wait())?.message).toContain('keep the build');
  await expect(cadre.decide(id, 'approve')).rejects.toMatchObject({
    code: 'approval_not_found',
    hint: expect.stringMatching(/\S/),
  });
  await root.wait();
  await root.close();
  await expect(cadre.decide(id, 'approve')).rejects.toMatchObject({ code: 'approval_not_found' });
});

test.each(['', 'x', '#p1', 'a0000000000zz', 'a0000000000zz#p1', 'a0000000000zz/worker-1#p1'])(
  'there is no approval %j',
  async (id) => {
    await expect(cadre.decide(id, 'approve')).rejects.toMatchObject({ code: 'approval_not_found' });
  },
);

test('a call that a program makes up is answered as one of the model’s, and the model does not see it', async () => {
  const session = await worker().start({
    tools: { look: ({ args }) => `seen ${args.path}` },
    script: () => say('ok'),
  });
  const root = cadre.get(session.id);
  await root.wait();
  expect(await root.call('look', { path: 'x' })).toEqual({ success: true, output: 'seen x' });
  expect(await root.call('look', '{"path": "y"}')).toEqual({ success: true, output: 'seen y' });
  const refused = await root.call('close_agent', { id: 'nobody-1' });
  expect(refused.success).toBe(false);
  expect(JSON.parse(refused.output).error.code).toBe('agent_not_found');
  expect((await root.items()).total).toBe(2);
});

test('the first event of a session has its source and its note', async () => {
  const session = await worker().start({ script: () => say('ok') });
  const agent = await cadre.start({
    id: (() => {
      const id = `${session.id.slice(0, -1)}${session.id.endsWith('0') ? '1' : '0'}` as typeof session.id;
      worker().playAs(id, session.id);
      return id;
    })(),
    task: 'x',
    queue: worker().queue,
    settings: { model: 'm', provider: 'script', working_directory: '/tmp' },
    note: '  look here  ',
  });
  await agent.wait();
  const events: AgentEvent[] = [];
  for await (const event of agent.events()) events.push(event);
  expect(events[0]).toMatchObject({ type: 'session.started', source: 'api', thread_note: 'look here' });
  expect((await agent.status()).source).toEqual({ kind: 'api' });
  const listed = async () =>
    (await cadre.list({ all: true, session: agent.id })).map((each) => each.source?.kind);
  await expect.poll(listed, { timeout: 20_000 }).toEqual(['api']);
});
