import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { AgentEvent, AgentView } from '../../protocol/index.ts';
import { subagentResultSchema } from '../../protocol/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { scriptAnswerer } from '../support/scripted-model-server.ts';
import { CadreHome, playing, SCRIPTS } from './cadre-home.ts';

const home = new CadreHome();
afterAll(() => home.remove());

const NAMED = ['-c', 'agents.dialect=named'];
const SCRIPT = playing('named.yaml');

interface RunJson {
  session_id: string;
  status: string;
  output: string;
  agents: AgentView[];
}
const play = (args: string[], cwd: string) => home.json<RunJson>(['run', ...args], { cwd });

test('a root lists, describes and runs sub-agents; refusals and failures come as results', async () => {
  const cwd = home.newFolder('named');
  const allowed = ['-c', 'agents.allowed_models=["script"]'];
  const { session_id: id, output, status, agents } = await play(['go', ...NAMED, ...SCRIPT, ...allowed], cwd);
  expect(status).toBe('completed');
  const said = JSON.parse(output);
  expect(said.listed).toBeGreaterThanOrEqual(3);
  expect(said).toMatchObject({
    described: 'explorer',
    gone: expect.stringMatching(/^Sub-agent execution failed: .*ghost/),
    wrote: { agent_name: 'worker', task: 'write this', success: true, output: 'wrote for write this' },
    nested: { success: true, output: 'told: Sub-agents are not enabled in this nested context' },
    failed: { success: false, output: '', error: expect.stringContaining('who are you') },
    ghost: {
      error: {
        code: 'unknown_role',
        message: expect.stringMatching(/^Sub-agent execution failed: .*ghost/),
        hint: expect.stringContaining('explorer'),
      },
    },
    model: { error: { code: 'unknown_model', hint: expect.stringContaining('script') } },
  });
  for (const result of [said.wrote, said.nested, said.failed]) {
    expect(subagentResultSchema.parse(result)).toEqual(result);
  }
  expect(readFileSync(join(cwd, 'made-by-subagent'), 'utf8')).toBe('written\n');
  expect(agents.map((agent) => [agent.depth, agent.status, agent.closed])).toEqual([
    [0, 'completed', true],
    [1, 'completed', true],
    [1, 'completed', true],
    [1, 'errored', true],
  ]);
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', id]);
  const of = (type: string) => events.filter((event) => event.type === type);
  expect(of('subagent.start')).toHaveLength(5);
  expect(of('subagent.start')[0]).toMatchObject({
    name: 'worker',
    description: 'write this',
    origin: 'main',
  });
  const ends = of('subagent.end') as Extract<AgentEvent, { type: 'subagent.end' }>[];
  expect(ends.map(({ name, success }) => `${name} ${success}`).sort()).toEqual([
    'ghost false',
    'worker false',
    'worker false',
    'worker true',
    'worker true',
  ]);
  // With the conversation, in the file that the session leaves.
  const exported = await home.run(['export', id]);
  expect(exported.stdout).toContain('"subagent.start"');
  expect(exported.stdout).toContain('"subagent.end"');
}, 150_000);

test('a run by hand prints the JSON of its result, and has its fields with --json', async () => {
  const cwd = home.newFolder('by-hand');
  const { session_id: id } = await play(['go', ...NAMED, ...SCRIPT], cwd);
  await home.run(['resume', id]);
  const args = ['call', 'subagent_run', '{"name":"worker","task":"write by hand"}', '--agent', id];
  const text = await home.run(args);
  const result = {
    agent_name: 'worker',
    task: 'write by hand',
    success: true,
    output: 'wrote for write by hand',
  };
  expect(text.code).toBe(0);
  expect(JSON.parse(text.stdout)).toEqual(result);
  const answer = await home.json<{ output: string; structured: unknown }>(args);
  expect(answer.structured).toEqual(result);
  expect(JSON.parse(answer.output)).toEqual(result);
}, 150_000);

test('may be switched off, and the depth may be set: 1 by default', async () => {
  const said = async (task: string, ...settings: string[]) => {
    const options = settings.flatMap((setting) => ['-c', setting]);
    return (await play([task, ...NAMED, ...SCRIPT, ...options], home.newFolder('switches'))).output;
  };
  expect(await said('nest', 'tools.subagent_tools=false')).toMatch(/^told: .*subagent_run.* not available/);
  expect(await said('deep')).toBe('told: Sub-agents are not enabled in this nested context');
  expect(await said('deep', 'agents.max_depth=2')).toBe('told: it ran below');
}, 150_000);

test.each(['responses', 'chat'] as const)(
  'the instructions of a sub-agent end with a blank line and its task, over %s',
  async (wire) => {
    const model: ModelServer = await startModelServer(scriptAnswerer(join(SCRIPTS, 'named.yaml')), {
      wires: [wire],
    });
    try {
      await home.json<RunJson>(['run', 'go', ...NAMED], {
        cwd: home.newFolder(wire),
        env: { OPENAI_BASE_URL: model.url },
      });
      const told = model.requests.map(({ instructions }) => instructions ?? '');
      expect(told.some((text) => text.endsWith('\n\nTask: write this'))).toBe(true);
      expect(told.some((text) => text.endsWith('\n\nTask: go'))).toBe(false);
    } finally {
      await model.close();
    }
  },
  150_000,
);

test('a run outlives the death of every process: started once, answered once', async () => {
  const cwd = home.newFolder('outlive');
  const { stdout } = await home.run(['run', 'outlive', '--detach', ...NAMED, ...SCRIPT], { cwd });
  const id = stdout.trim();
  const tree = async () => (await home.json<{ agents: AgentView[] }>(['tree', id])).agents;
  await expect.poll(async () => (await tree())[1]?.status, { timeout: 60_000 }).toBe('running');
  home.killAll();
  expect(await home.run(['attach', id], { cwd })).toMatchObject({ code: 0, stdout: 'slow but sure\n' });
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', id]);
  const subagent = events.filter(({ type }) => type.startsWith('subagent.'));
  expect(subagent).toMatchObject([
    { type: 'subagent.start', name: 'worker', origin: 'main' },
    { type: 'subagent.end', success: true },
  ]);
  expect(await tree()).toHaveLength(2);
}, 150_000);
