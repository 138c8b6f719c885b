import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AgentEvent, AgentView, Item } from '../../protocol/index.ts';
import { CadreHome, playing } from './cadre-home.ts';
import { expectNoStack, fails, failureOf } from './failures.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const home = new CadreHome();
beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

/** A command about an agent, with what else it needs. */
const about = (id: string): Record<string, string[]> => ({
  send: ['send', id, 'hello'],
  interrupt: ['interrupt', id],
  note: ['note', id, 'a note'],
  close: ['close', id],
  status: ['status', id],
  tree: ['tree', id],
  items: ['items', id],
  events: ['events', id],
  attach: ['attach', id],
  wait: ['wait', id],
});

describe('an id that nobody has', () => {
  const { wait, ...others } = about('a0k3v9x2m4qd7/worker-1');

  test.concurrent.each(Object.values(others))(
    '%s ends with 3 and tells where ids are found',
    async (...args) => {
      const { code, error } = await fails(home, args);
      expect(code).toBe(3);
      expect(error).toMatchObject({ code: 'agent_not_found', hint: expect.stringContaining('cadre ps') });
      expect(error.message).toContain('a0k3v9x2m4qd7');
    },
  );

  test.concurrent('wait names it as not_found, and ends with 3', async () => {
    const ended = await home.run([...(wait ?? []), '--json']);
    expect(ended.code).toBe(3);
    expect(JSON.parse(ended.stdout)).toEqual({
      status: { 'a0k3v9x2m4qd7/worker-1': 'not_found' },
      timed_out: false,
    });
  });

  test.concurrent.each(['', 'worker-1', '../../etc/passwd', 'a0k3v9x2m4qd7/', 'A0K3V9X2M4QD7', '; rm -rf /'])(
    'what cannot be an id at all: %j',
    async (id) => {
      const { code, error } = await fails(home, ['status', id]);
      expect(code).toBe(3);
      expect(error).toMatchObject({
        code: 'agent_not_found',
        hint: expect.stringContaining('a0k3v9x2m4qd7'),
      });
    },
  );
});

describe('a session that is closed', () => {
  let id = '';
  beforeAll(async () => {
    const run = await home.json<{ session_id: string }>(['run', 'look', ...playing('keys.yaml')], {
      cwd: home.folder,
    });
    id = run.session_id;
  });

  test.concurrent.each(['send', 'interrupt', 'note'])('takes no %s, and says so', async (command) => {
    const { code, error } = await fails(home, about(id)[command] ?? []);
    expect(code).toBe(1);
    expect(error).toMatchObject({
      code: 'agent_closed',
      message: expect.stringContaining(id),
      hint: expect.stringContaining('cadre resume'),
    });
  });

  test.concurrent('is closed again without complaint', async () => {
    expect(await home.json(['close', id])).toMatchObject({ agent_id: id, status: 'completed', closed: [] });
  });

  test.concurrent('still shows all that was', async () => {
    const view = { agent_id: id, status: 'completed', closed: true };
    expect(await home.json<AgentView>(['status', id])).toMatchObject(view);
    expect(await home.json(['tree', id])).toMatchObject({ agents: [view] });
    const { items } = await home.json<{ items: Item[] }>(['items', id]);
    expect(items.at(-1)).toMatchObject({ type: 'assistant_message' });
    const { events } = await home.json<{ events: AgentEvent[] }>(['events', id, '-f']);
    expect(events.at(-1)).toMatchObject({ type: 'agent.status', status: 'completed' });
    expect(await home.json(['wait', id])).toMatchObject({ status: { [id]: { completed: 'color= key=' } } });
    expect(await home.run(['attach', id])).toMatchObject({ code: 0, stdout: 'color= key=\n' });
    const listed = await home.json<{ agents: AgentView[] }>(['ps']);
    expect(listed.agents.map((agent) => agent.agent_id)).not.toContain(id);
  });

  test.concurrent('is not hidden from wait by what nobody knows, nor by a time that is short', async () => {
    const waited = async (...args: string[]) => {
      const { code, stdout } = await home.run(['wait', ...args, '--json'], { cwd: home.folder });
      return { code, ...JSON.parse(stdout) };
    };
    const known = { [id]: { completed: 'color= key=' } };
    const unknown = 'a0k3v9x2m4qd7/worker-1';
    expect(await waited(id, '--timeout', '0.1')).toEqual({ code: 0, status: known, timed_out: false });
    for (const nobody of [unknown, 'nope']) {
      const both = { code: 3, status: { ...known, [nobody]: 'not_found' }, timed_out: false };
      expect(await waited(id, nobody)).toEqual(both);
      expect(await waited('--all', id, nobody, '--timeout', '0.1')).toEqual(both);
    }
    expect((await home.run(['wait', '--all', id, unknown, '--timeout', '0.1'])).stdout).not.toContain(
      'time is up',
    );
  });

  test.concurrent('is waited for once, however often its id stands there', async () => {
    const unknown = 'a0k3v9x2m4qd7/worker-1';
    expect(await home.run(['wait', id, id])).toMatchObject({ code: 0, stdout: 'color= key=\n' });
    const all = await home.run(['wait', '--all', unknown, id, unknown, id, '--json']);
    expect(all.code).toBe(3);
    expect(JSON.parse(all.stdout)).toEqual({
      status: { [unknown]: 'not_found', [id]: { completed: 'color= key=' } },
      timed_out: false,
    });
  });

  test.concurrent.each([['text'], ['json', '--json']])(
    'is not what wait means when no id stands there: wrong usage (%s)',
    async (_format, ...options) => {
      // Also where there is a newest session that could be meant.
      const ended = await home.run(['wait', '--all', ...options], { cwd: home.folder });
      expectNoStack(ended);
      expect(ended.code).toBe(2);
      const missing = "missing required argument 'id'";
      if (options.length === 0) {
        expect(ended.stdout).toBe('');
        expect(ended.stderr).toContain(missing);
        return;
      }
      expect(failureOf(ended).error).toMatchObject({
        code: 'usage',
        message: expect.stringContaining(missing),
        hint: expect.stringMatching(/\S/),
      });
    },
  );

  test.concurrent.each(['fork', 'resume'])(
    'is left as it is where the text to %s it with is blank',
    async (command) => {
      const cwd = home.newFolder(`blank-${command}`);
      const refused = await home.run([command, id, '  ', '--json'], { cwd });
      expect(refused.code).toBe(2);
      expect(failureOf(refused).error).toMatchObject({ code: 'usage' });
      expect(await home.json<AgentView>(['status', id])).toMatchObject({ closed: true });
      // No session was begun in this folder.
      expect((await home.run(['status', '--last'], { cwd })).code).not.toBe(0);
    },
  );

  test.concurrent('has no children that never were', async () => {
    const ended = await home.run(['status', `${id}/worker-1`, '--json']);
    expect(ended.code).toBe(3);
    // The session itself is known: it need not be brought back.
    expect(failureOf(ended).error.hint).not.toContain('rollout');
  });
});

/** A session whose command was killed while its agent was at work. */
async function abandoned(name: string): Promise<{ id: string; cwd: string }> {
  const cwd = home.newFolder(name);
  const running = home.start(['run', 'listen', ...playing('listen-on.yaml')], { cwd });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/shell · /);
  running.child.kill('SIGKILL');
  await running.ended;
  return { id, cwd };
}

/** What cannot be removed is still open: whoever has worked for it has left too early. */
async function untilRemoved(id: string): Promise<void> {
  for (const end = Date.now() + 60_000; ; await sleep(1_000)) {
    const { code, stderr } = await home.run(['rm', id]);
    if (code === 0) return;
    if (Date.now() > end) throw new Error(stderr);
  }
}

describe('a session that nobody works for', () => {
  test.concurrent('answers all the same, takes a note and input, and says that nobody acts on it', async () => {
    const { id, cwd } = await abandoned('asked');
    expect(await home.json<AgentView>(['status', id])).toMatchObject({ status: 'running', closed: false });
    expect(await home.json(['tree', id])).toMatchObject({ agents: [{ agent_id: id }] });
    expect((await home.json<{ items: Item[] }>(['items', id])).items[0]).toMatchObject({
      type: 'user_message',
    });
    expect((await home.json<{ events: AgentEvent[] }>(['events', id])).events[0]).toMatchObject({ seq: 1 });
    const { agents } = await home.json<{ agents: AgentView[] }>(['ps']);
    expect(agents.map((agent) => agent.agent_id)).toContain(id);
    expect(await home.json(['note', id, ' left alone '])).toEqual({
      agent_id: id,
      thread_note: 'left alone',
    });
    const sent = await home.run(['send', id, 'are you there?']);
    expect(sent.code).toBe(0);
    expect(sent.stderr).toMatch(/nobody works for .*cadre attach/s);

    // Who waits has it worked for, and leaves nothing half done.
    writeFileSync(join(cwd, 'stop'), '');
    const waited = await home.json<{ status: Record<string, unknown> }>(['wait', id, '--timeout', '90']);
    expect(waited.status[id]).toEqual({ completed: 'the last I heard: are you there?' });
    await untilRemoved(id);
  });

  test.concurrent('goes on in the background where somebody calls tools in it, each of whom gets the own answer', async () => {
    const { id, cwd } = await abandoned('called');
    const [active, plan] = await Promise.all([
      home.run(['call', 'list_active_agents', '{}', '--agent', id, '--json']),
      home.run(['call', 'list_agents', '{}', '--agent', id, '--json']),
    ]);
    expect(JSON.parse(active.stdout)).toMatchObject({ tool: 'list_active_agents', success: true });
    expect(JSON.parse(active.stdout).output).toContain('slots');
    expect(JSON.parse(plan.stdout)).toMatchObject({ tool: 'list_agents', success: true });
    expect(JSON.parse(plan.stdout).output).not.toContain('slots');
    expect(active.stderr + plan.stderr).toMatch(/a worker in the background goes on/);
    writeFileSync(join(cwd, 'stop'), '');
    for (const end = Date.now() + 90_000; Date.now() < end; await sleep(1_000)) {
      if ((await home.json<AgentView>(['status', id])).status === 'completed') break;
    }
    expect(await home.json<AgentView>(['status', id])).toMatchObject({ status: 'completed' });
    await untilRemoved(id);
  });

  test.concurrent('can be interrupted and closed', async () => {
    const { id } = await abandoned('ended');
    const interrupted = await home.run(['interrupt', id, '--json', '--reason', 'enough']);
    expectNoStack(interrupted);
    expect(JSON.parse(interrupted.stdout)).toMatchObject({ status: 'interrupted', message: 'enough' });
    expect(await home.json(['close', id])).toMatchObject({ status: 'interrupted', closed: [id] });
    expect(await home.json<AgentView>(['status', id])).toMatchObject({ status: 'shutdown', closed: true });
  });
});

// Alone, as it takes up every session that nobody works for.
test('a worker without a queue picks up a session that nobody works for, and ends on SIGTERM', async () => {
  const { id, cwd } = await abandoned('picked-up');
  const worker = home.start(['worker']);
  await worker.says(/Working for all local sessions/);
  writeFileSync(join(cwd, 'stop'), '');
  const { stdout } = await home.run(['send', id, 'go on', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ submission_id: expect.any(String) });
  for (const end = Date.now() + 90_000; Date.now() < end; ) {
    const { agents } = await home.json<{ agents: AgentView[] }>(['ps', '--all']);
    if (agents.some((agent) => agent.agent_id === id && agent.closed)) break;
  }
  expect(await home.json<AgentView>(['status', id])).toMatchObject({ status: 'completed', closed: true });
  worker.child.kill('SIGTERM');
  const ended = await worker.ended;
  expectNoStack(ended);
  expect(ended.code).toBe(0);
});
