import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentView, Item } from '../../protocol/index.ts';
import { CadreHome, playing } from './cadre-home.ts';
import { fails } from './failures.ts';

const home = new CadreHome();
const SCRIPT = playing('ask.yaml');

beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

let folders = 0;
/** A session that has ended, with one child, in a folder of its own. */
async function endedSession() {
  folders++;
  const cwd = join(home.folder, String(folders));
  mkdirSync(cwd);
  const { session_id: id, output } = await home.json<{ session_id: string; output: string }>(
    ['run', 'the task', ...SCRIPT],
    { cwd },
  );
  return { id, output, cwd };
}
const conversation = async (id: string) => (await home.json<{ items: Item[] }>(['items', id])).items;
const statusOf = async (id: string) => home.json<AgentView>(['status', id]);

test('a session that has ended goes on with resume, by --last, with all that it had', async () => {
  const { id, cwd } = await endedSession();
  const before = await conversation(id);
  const resumed = await home.json<{ agent_id: string; resumed: string[] }>(
    ['resume', '--last', '--recursive'],
    { cwd },
  );
  expect(resumed).toMatchObject({ agent_id: id, resumed: [id, `${id}/default-1`] });
  const listed = async () =>
    (await home.json<{ agents: AgentView[] }>(['ps'])).agents
      .filter((agent) => agent.session_id === id)
      .map((agent) => [agent.agent_id, agent.status, agent.source.kind]);
  await expect.poll(listed, { timeout: 30_000 }).toEqual(
    expect.arrayContaining([
      [id, 'completed', 'exec'],
      [`${id}/default-1`, 'completed', 'sub_agent'],
    ]),
  );
  expect(await conversation(id)).toEqual(before);
  // Short names mean agents of that session.
  await home.run(['send', 'default-1', 'hello'], { cwd });
  const child = await home.run(['wait', 'default-1', '--timeout', '60'], { cwd });
  expect(child).toMatchObject({ code: 0, stdout: 'the child heard hello\n' });
  await home.run(['resume', '--last', 'and you?'], { cwd });
  // It is one-shot as it was: with an answer to that it has settled again.
  const root = await home.run(['attach', id], { cwd });
  expect(root).toMatchObject({ code: 0, stdout: 'the root heard and you?\n' });
  expect(await statusOf(id)).toMatchObject({ closed: true, turn: 2 });
}, 150_000);

test('an agent below a closed root cannot be resumed; the error names the root', async () => {
  const { id } = await endedSession();
  const { error } = await fails(home, ['resume', `${id}/default-1`]);
  expect(error).toMatchObject({
    code: 'agent_not_resumable',
    hint: expect.stringContaining(`cadre resume ${id}`),
  });
});

test('a worker for all local sessions takes up one that is resumed while it runs', async () => {
  const { id } = await endedSession();
  const worker = home.start(['worker', '-v']);
  await worker.says(/Working for all local sessions/);
  // It has seen by then that there is nothing to do.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(worker.stderr()).not.toContain(id);
  expect((await home.run(['resume', id, 'and you?'])).code).toBe(0);
  await worker.says(new RegExp(`session ${id} is open`), 60_000);
  await expect.poll(() => statusOf(id), { timeout: 60_000 }).toMatchObject({ turn: 2, closed: true });
  worker.child.kill('SIGINT');
  expect(await worker.ended).toMatchObject({ code: 0 });
}, 180_000);

test('a fork goes on from before a message, and leaves the original alone', async () => {
  const { id, cwd } = await endedSession();
  const before = await conversation(id);
  const whole = await home.json<{ agent_id: string; items_carried: number }>(['fork', id], { cwd });
  expect(whole.items_carried).toBe(before.length);
  expect(await conversation(whole.agent_id)).toEqual(before);
  const fork = await home.json<{ agent_id: string; items_carried: number }>(
    ['fork', id, 'child of a fork', '--before-message', '1'],
    { cwd },
  );
  expect(fork.items_carried).toBe(0);
  // The newest session of this folder is now the fork.
  const waited = await home.json<{ status: Record<string, { completed: string }> }>(['wait', '--last'], {
    cwd,
  });
  expect(waited.status[fork.agent_id]?.completed).toContain('the child got');
  expect(await conversation(id)).toEqual(before);
  expect(await statusOf(whole.agent_id)).toMatchObject({ task: 'the task' });
  // The task was the first message: what is left of it is nothing.
  const empty = await home.run(['fork', id, '--before-message', '1'], { cwd });
  expect(empty).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('It has nothing of the conversation'),
  });
  expect(await statusOf(empty.stdout.trim())).toMatchObject({ task: '', turn: 0 });
  const again = await home.run(['fork', empty.stdout.trim()], { cwd });
  expect(await statusOf(again.stdout.trim())).toMatchObject({ task: '' });
  const { error, code } = await fails(home, ['fork', id, '--before-message', '9']);
  expect(error).toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('1 user message'),
  });
  expect(code).toBe(2);
}, 150_000);

test('rm removes a closed session, and no open one', async () => {
  const { id, cwd } = await endedSession();
  await home.run(['resume', id]);
  const open = await fails(home, ['rm', id]);
  expect(open.error).toMatchObject({
    code: 'not_permitted',
    hint: expect.stringContaining(`cadre close ${id}`),
  });
  await home.run(['close', id]);
  const record = join(home.home, 'sessions', `${id}.json`);
  const kept = readFileSync(record);
  // What has ended below it a moment ago may not be listed yet.
  const { removed } = await home.json<{ removed: string[] }>(['rm', '--last'], { cwd });
  expect(removed).toContain(id);
  const gone = () => home.run(['status', id]).then(({ code }) => code);
  await expect.poll(gone, { timeout: 150_000 }).toBe(3);
  const none = await fails(home, ['status', '--last'], { cwd });
  expect(none).toMatchObject({ code: 3, error: { code: 'agent_not_found' } });
  // As if it had been deleted with Temporal's own tools.
  writeFileSync(record, kept);
  expect(await home.json(['rm', id])).toEqual({ removed: [], rollout: false });
  expect(existsSync(record)).toBe(false);
  expect(await fails(home, ['rm', id])).toMatchObject({ code: 3, error: { code: 'agent_not_found' } });
}, 300_000);

test('call answers as the model would read it, and a refusal is an error', async () => {
  const { id, cwd } = await endedSession();
  await home.run(['resume', id]);
  const called = await home.json<{ success: boolean; output: string }>(
    ['call', 'shell', '{"command": "echo by hand"}', '--agent', id],
    { cwd },
  );
  expect(called).toMatchObject({ success: true, output: expect.stringContaining('by hand') });
  const text = await home.run(['call', 'list_agents', '--last'], { cwd });
  expect(JSON.parse(text.stdout).agents.length).toBeGreaterThan(2);
  const refused = await fails(home, ['call', 'close_agent', '{"id": "nobody-1"}', '--agent', id]);
  expect(refused).toMatchObject({ code: 3, error: { code: 'agent_not_found' } });
  const unknown = await fails(home, ['call', 'no_such_tool', '--agent', id]);
  expect(unknown).toMatchObject({ code: 3, error: { code: 'unknown_tool' } });
  const wrong = await fails(home, ['call', 'shell', '{"comand": "x"}', '--agent', id]);
  expect(wrong.error.message).toContain('failed to parse function arguments');
}, 150_000);

test('an ambiguous or unknown short name is an error that tells what there is', async () => {
  const { id, cwd } = await endedSession();
  const unknown = await fails(home, ['status', 'ghost'], { cwd });
  expect(unknown).toMatchObject({ code: 3, error: { hint: expect.stringContaining('default-1') } });
  const elsewhere = await fails(home, ['status', 'default-1'], { cwd: home.root });
  expect(elsewhere.error.message).toContain('default-1');
  expect((await home.json<AgentView>(['status', 'default-1'], { cwd })).agent_id).toBe(`${id}/default-1`);
});
