import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type AgentEvent, type AgentView, sessionProjectionSchema } from '../../protocol/index.ts';
import { CadreHome, playing } from './cadre-home.ts';

const home = new CadreHome();
afterAll(() => home.remove());

const SESSIONS = ['-c', 'agents.dialect=sessions', ...playing('sessions.yaml')];

interface RunJson {
  session_id: string;
  status: string;
  output: string;
  agents: AgentView[];
}
const play = (task: string, cwd: string, ...settings: string[]) =>
  home.json<RunJson>(['run', task, ...SESSIONS, ...settings.flatMap((setting) => ['-c', setting])], { cwd });

test('a root opens sessions by their aliases, goes on with one, and closes it; refusals say what is accepted', async () => {
  const cwd = home.newFolder('sessions');
  writeFileSync(join(cwd, 'notes.md'), 'a note\n');
  const { session_id: id, output, status } = await play('go', cwd);
  expect(status).toBe('completed');
  const said = JSON.parse(output);
  for (const name of ['mapper', 'mapped', 'more', 'unlocked', 'told', 'closed']) {
    expect(() => sessionProjectionSchema.parse(said[name]), name).not.toThrow();
  }
  const mapper = { name: 'mapper', agent_id: `${id}/mapper`, type: 'explore', context_mode: 'fresh' };
  expect(said).toMatchObject({
    mapper: { ...mapper, status: 'running', terminal: false, transcript_handle: `transcript:${id}/mapper` },
    mapped: {
      ...mapper,
      status: 'completed',
      terminal: true,
      contract: 'ok',
      sections: {
        summary: 'The folder holds notes.md.',
        changes: 'None.',
        evidence: '- notes.md:1-1 says it',
        risks: '**None.**',
        blockers: 'Nothing can be written here.',
      },
      message: expect.stringContaining('I looked.'),
    },
    more: { ...mapper, status: 'completed', contract: 'missing', message: 'I was asked: what else?' },
    unlocked: {
      type: 'custom',
      contract: 'partial',
      sections: { summary: expect.stringMatching(/^tool_not_allowed, \d/) },
    },
    told: { status: 'completed', message: 'told: Agent depth limit reached. Solve the task yourself.' },
    closed: {
      ...mapper,
      status: 'completed',
      closed: true,
      status_before: 'completed',
      closed_agents: [`${id}/mapper`],
    },
    open: { code: 'invalid_arguments', message: expect.stringContaining('allowed_tools') },
    role: { code: 'unknown_role', hint: expect.stringMatching(/code-review.*general-purpose.*verifier/) },
    both: {
      code: 'invalid_arguments',
      message: 'failed to parse function arguments: give either prompt or items',
    },
    again: { code: 'invalid_arguments', message: expect.stringContaining(`${id}/mapper`) },
    other: { code: 'unknown_tool' },
    nobody: { code: 'agent_not_found', hint: expect.stringContaining('mapper') },
    unclear: { message: 'failed to parse function arguments: give either name or agent_id' },
    late: { code: 'agent_closed', hint: expect.stringContaining('agent_open') },
  });
  expect(existsSync(join(cwd, 'written-by-explore'))).toBe(false);

  const { agents } = await home.json<{ agents: AgentView[] }>(['tree', id]);
  expect(agents.map(({ name, role, status, closed }) => [name, role, status, closed])).toEqual([
    [id, 'general', 'completed', true],
    ['mapper', 'explore', 'completed', true],
    ['custom-1', 'custom', 'completed', true],
    ['nested', 'general', 'completed', true],
  ]);
  const tree = await home.run(['tree', id]);
  expect(tree.stdout).toMatch(/mapper.*completed/);
  // Short names are names of this session.
  expect(await home.json<AgentView>(['status', 'mapper'], { cwd })).toMatchObject({
    agent_id: `${id}/mapper`,
  });
}, 150_000);

test('at the cap opening one more is refused, with the cap and what makes room', async () => {
  const { output, agents } = await play('crowd', home.newFolder('crowd'), 'agents.max_threads=2');
  expect(JSON.parse(output)).toMatchObject({
    code: 'limit_threads',
    message: expect.stringContaining('All 2 slots'),
    hint: expect.stringMatching(/agent_eval.*agent_close/),
    retryable: true,
  });
  expect(agents.map(({ name }) => name).slice(1)).toEqual(['one', 'two']);
  const tooMany = await home.run(['run', 'crowd', ...SESSIONS, '-c', 'agents.max_threads=21']);
  expect(tooMany).toMatchObject({ code: 2, stderr: expect.stringContaining('20') });
}, 150_000);

test('a wait for a session outlives the death of every process: opened once, answered once', async () => {
  const cwd = home.newFolder('outlive');
  const { stdout } = await home.run(['run', 'outlive', '--detach', ...SESSIONS], { cwd });
  const id = stdout.trim();
  const tree = async () => (await home.json<{ agents: AgentView[] }>(['tree', id])).agents;
  await expect.poll(async () => (await tree())[0]?.waiting_for, { timeout: 60_000 }).toBe('agents');
  home.killAll();
  expect(await home.run(['attach', id], { cwd })).toMatchObject({ code: 0, stdout: 'slow but sure\n' });
  expect(await tree()).toHaveLength(2);
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', id]);
  expect(events.filter(({ type }) => type === 'agent.wait.end')).toHaveLength(1);
}, 150_000);
