import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { scriptAnswerer } from '../support/scripted-model-server.ts';
import { CadreHome, playing, SCRIPTS } from './cadre-home.ts';

const home = new CadreHome();
afterAll(() => home.remove());

const MAILBOX = ['-c', 'agents.dialect=mailbox'];
const SCRIPT = playing('mailbox.yaml');

interface RunJson {
  session_id: string;
  status: string;
  output: string;
  agents: AgentView[];
}
const play = (args: string[], cwd: string) =>
  home.json<RunJson>(['run', ...args, ...MAILBOX, ...SCRIPT], { cwd });

test('a root opens, asks, reads and ends sub-agents; refusals and failures come as such', async () => {
  const cwd = home.newFolder('mailbox');
  const { session_id: id, output, status, agents } = await play(['go'], cwd);
  expect(status).toBe('completed');
  const said = JSON.parse(output);
  const counter = `${id}/default-1`;
  expect(said.counter).toEqual({
    subagent_id: counter,
    conversation_id: counter,
    rollout_path: join(home.home, 'rollouts', `${id}.jsonl`),
    description: expect.stringMatching(/^count \(model .*, sandbox workspace-write, .*at most 1 turn\)$/),
  });
  expect(said.loose.error).toMatchObject({
    code: 'not_permitted',
    hint: expect.stringContaining('read-only'),
  });
  expect(said.away.error).toMatchObject({
    code: 'approval_unavailable',
    message: expect.stringContaining('Another cwd than yours'),
  });
  expect(said.counted).toMatchObject({ reply: 'counted once', done: true, mail_id: 'mail-1' });
  expect(said.nested.reply).toBe('told: Agent depth limit reached. Solve the task yourself.');
  expect(said.ghost.error).toMatchObject({ code: 'agent_not_found' });
  expect(said.failed_too).toMatchObject({
    reply: null,
    done: true,
    error: expect.stringContaining('who are you'),
  });
  // The failure of the message that was not waited for is mail, and told by a notice; that of the other is neither.
  expect(said.box.items).toMatchObject([{ mail_id: 'mail-3', unread: true, subject: 'No answer to: go' }]);
  expect(said.mail).toMatchObject({ body: expect.stringContaining('who are you') });
  expect(said.notices).toEqual([expect.stringMatching(/default-2.* errored in .*who are you/)]);
  expect(said.again).toMatchObject({ done: true, error: expect.stringContaining('agents.max_turns') });
  expect(readFileSync(said.ended.archived_path, 'utf8')).toContain('counted once');
  expect(said.dropped).toEqual({ conversation_id: `${id}/default-3`, archived_path: null });
  expect(readFileSync(join(cwd, 'counted'), 'utf8')).toBe('once\n');
  expect(agents.map(({ depth, sandbox_mode }) => [depth, sandbox_mode])).toEqual([
    [0, 'workspace-write'],
    [1, 'workspace-write'],
    [1, 'workspace-write'],
    [1, 'read-only'],
  ]);
  // What rollout_path has told.
  expect(readFileSync(said.counter.rollout_path, 'utf8')).toContain('counted once');
  await home.run(['rm', id]);
  expect(existsSync(said.ended.archived_path)).toBe(false);
}, 150_000);

test('messages outlive the death of every process: each answered once, in order, and nothing done twice', async () => {
  const cwd = home.newFolder('outlive');
  const { stdout } = await home.run(['run', 'outlive', '--detach', ...MAILBOX, ...SCRIPT], { cwd });
  const id = stdout.trim();
  const counter = () => home.json<AgentView>(['status', `${id}/default-1`]).catch(() => undefined);
  // In the second of three messages, with the third in line and the first in the mailbox.
  const isAtWork = async () => {
    const view = await counter();
    return view?.turn === 2 && view.current_tool?.startsWith('shell') === true;
  };
  await expect.poll(isAtWork, { timeout: 60_000 }).toBe(true);
  home.killAll();
  const { code, stdout: output } = await home.run(['attach', id], { cwd });
  expect(code).toBe(0);
  const said = JSON.parse(output);
  expect([said.two.done, said.three.done]).toEqual([true, true]);
  expect(said.two).toMatchObject({ reply: 'counted two', mail_id: 'mail-2' });
  expect(said.three).toMatchObject({ reply: 'counted all but three', mail_id: 'mail-3' });
  expect(
    said.box.items.map((mail: { mail_id: string; unread: boolean }) => [mail.mail_id, mail.unread]),
  ).toEqual([
    ['mail-3', false],
    ['mail-2', false],
    ['mail-1', true],
  ]);
  expect(said.mail).toMatchObject({ body: 'counted one', subject: 'Answer to: one' });
  // The two that were waited for are told by no notice.
  expect(said.notices).toBe(1);
  // The command that was under way is never run again; its outcome was unknown, and the model went on.
  expect(readFileSync(join(cwd, 'counted'), 'utf8')).toBe('one\n');
  const kept = readFileSync(said.ended.archived_path, 'utf8');
  expect(said.ended.archived_path).toBe(join(cwd, 'kept.jsonl'));
  expect(kept).toContain("It is unknown whether shell (sleep 8; echo 'two' >> counted) had its effect");
  expect(kept).toContain('counted all but three');
}, 200_000);

test('plan_first has the model plan in a step of its own, before it hands out work', async () => {
  const said = async (...more: string[]) =>
    JSON.parse((await play(['plan', ...more], home.newFolder('plan'))).output);
  const { early, opened } = await said('-c', 'agents.plan_first=true');
  expect(early.error).toMatchObject({ code: 'plan_missing', hint: expect.stringContaining('update_plan') });
  expect(opened.subagent_id).toMatch(/default-1$/);
  expect((await said()).early.subagent_id).toMatch(/default-1$/);
}, 150_000);

test.each(['responses', 'chat'] as const)(
  'a sub-agent is told its role and its scope behind what everybody is told, over %s',
  async (wire) => {
    const model: ModelServer = await startModelServer(scriptAnswerer(join(SCRIPTS, 'mailbox.yaml')), {
      wires: [wire],
    });
    try {
      await home.json<RunJson>(['run', 'go', ...MAILBOX], {
        cwd: home.newFolder(wire),
        env: { OPENAI_BASE_URL: model.url },
      });
      const told = (id: RegExp) => model.requests.find(({ agent }) => id.test(agent.id))?.instructions ?? '';
      expect(told(/default-1$/)).toMatch(/\n\nYou count\.\n\nYou are a helper with one goal/);
      expect(told(/default-3$/)).toContain('You are a helper with one goal');
      expect(told(/^[^/]*$/)).not.toContain('You are a helper with one goal');
    } finally {
      await model.close();
    }
  },
  150_000,
);
