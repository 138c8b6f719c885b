import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { instructionsFor } from '../../../activities/roles/instructions.ts';
import { createResolveRole } from '../../../activities/roles/resolve-role.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { listAgents } from '../../../activities/tools/list-agents.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import type { AgentContext, AgentSettings, RoleRequest } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';
import { agentIn, contextIn, sessionWith } from '../tools/tool-context.ts';

const critic = `---
description: Finds fault.
tools: Read, Grep
maxTurns: 7
agent_names:
  - name: kind
    prompt: Begin with what is good.
---
You say what is wrong.
`;

function place(files: Record<string, string> = { '.claude/agents/critic.md': critic }) {
  const folder = folderWith({ 'home/keep': '', ...files });
  const resolve = createResolveRole({
    sessions: { get: async () => sessionWith() },
    listModels: async () => ['gpt-5'],
    home: join(folder, 'home'),
  });
  const root = agentIn({ working_directory: folder });
  const start = async (request: Partial<RoleRequest>, by: AgentContext = root): Promise<AgentContext> => {
    const { session_id, settings: inherited } = by;
    const answer = await resolve({ session_id, inherited, role: undefined, ...request });
    if (!answer.ok) throw Object.assign(new Error(answer.error.message), answer.error);
    return { ...by, settings: answer.settings };
  };
  return { folder, start };
}
const offered = (agent: AgentContext) =>
  offeredTools(agent, sessionWith(), builtinTools).map(({ name }) => name);
const told = (agent: AgentContext) => instructionsFor(agent, new Set(offered(agent)));

test('an agent has the tools, the limits and the text of the file of its role', async () => {
  const { folder, start } = place();
  const agent = await start({ role: 'critic', persona: 'kind' });
  expect(agent.settings).toMatchObject({ role: 'critic', persona: 'kind', limits: { max_steps: 7 } });
  expect(agent.settings.role_text?.path).toBe(join(folder, '.claude/agents/critic.md'));
  expect(offered(agent)).toEqual(['read_file', 'grep_files', 'view_image', 'handle_read']);
  expect(await told(agent)).toMatch(/You say what is wrong\.\n\nBegin with what is good\.$/);
});

test('an agent is told the same for as long as it lives, whatever becomes of the file', async () => {
  const { folder, start } = place();
  const agent = await start({ role: 'critic' });
  const before = await told(agent);
  writeFileSync(join(folder, '.claude/agents/critic.md'), critic.replace('wrong', 'right'));
  expect(await told(agent)).toBe(before);
  expect(await told(await start({ role: 'critic' }))).toContain('You say what is right.');
  rmSync(join(folder, '.claude'), { recursive: true });
  expect(await told(agent)).toBe(before);
  await expect(start({ role: 'critic' })).rejects.toMatchObject({ code: 'unknown_role' });
});

test('its children have a text of their own, and no more tools than it', async () => {
  const { start } = place();
  const agent = await start({ role: 'critic', persona: 'kind' });
  for (const child of [await start({}, agent), await start({ role: 'worker' }, agent)]) {
    expect(child.settings.role_text).toBeUndefined();
    expect(await told(child)).not.toContain('what is wrong');
    expect(await told(child)).not.toContain('what is good');
    expect(offered(child)).toEqual(['read_file', 'grep_files', 'view_image', 'handle_read']);
  }
});

test('a file that is broken refuses its role with path and line, and no other', async () => {
  const { folder, start } = place({
    '.claude/agents/critic.md': critic,
    '.claude/agents/bad.md': '---\ndescription: d\ntools:\n---\nbody',
    '.cadre/agents/explorer.md': '---\ndescription: d\ndenied: [Bash]\nunknown: 1\n---\nbody',
  });
  await expect(start({ role: 'bad' })).rejects.toMatchObject({
    code: 'config_invalid',
    message: `${join(folder, '.claude/agents/bad.md')}:3: tools: expected a list of names, or one text with commas; [] means none`,
  });
  await expect(start({ role: 'explorer' })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('explorer.md:3: "denied" may take something away'),
  });
  expect((await start({ role: 'critic' })).settings.role).toBe('critic');
  expect((await start({ role: 'worker' })).settings.role).toBe('worker');
});

test('a project cannot loosen a role that comes with Cadre; a home can', async () => {
  const wide = '---\ndescription: Wide.\n---\nYou may all.\n';
  const { start } = place({ '.claude/agents/explorer.md': wide });
  const held = await start({ role: 'explorer' });
  expect(held.settings).toMatchObject({ sandbox_mode: 'read-only', tool_policy: { read_only: true } });
  expect(await told(held)).toContain('You may all.');

  const own = place({ 'home/.claude/agents/explorer.md': wide });
  const free = await own.start({ role: 'explorer' });
  expect(free.settings.sandbox_mode).toBe('workspace-write');
  expect((await own.start({ role: 'worker' }, free)).settings.sandbox_mode).toBe('workspace-write');
});

test('a short name of a model that nobody has explained is refused with how to do that', async () => {
  const { start } = place({ '.claude/agents/a.md': '---\ndescription: d\nmodel: sonnet\n---\nbody' });
  await expect(start({ role: 'a' })).rejects.toMatchObject({
    code: 'unknown_model',
    hint: 'Accepted: gpt-5. Or say in the configuration what it means: [model_aliases] sonnet = "…".',
  });
});

test.each([
  ['on-request', 'untrusted', 'untrusted', true],
  ['untrusted', 'never', 'untrusted', true],
  ['never', 'on-request', 'never', true],
  // Nobody may be asked about what the role wants asked about.
  ['never', 'untrusted', 'never', false],
] as const)('under the policy %s a role that says %s has %s', async (inherited, says, has, runs) => {
  const text = `---\ndescription: d\napproval_policy: ${says}\n---\nbody`;
  const { folder, start } = place({ '.cadre/agents/r.md': text });
  const agent = await start(
    { role: 'r' },
    agentIn({ working_directory: folder, approval_policy: inherited }),
  );
  expect(agent.settings.approval_policy).toBe(has);
  expect(offered(agent).includes('shell')).toBe(runs);
});

test('a sandbox of a role counts where it is the stricter one', async () => {
  const text = '---\ndescription: d\nsandbox_mode: workspace-write\n---\nbody';
  const { folder, start } = place({ '.cadre/agents/r.md': text });
  const under = async (sandbox_mode: AgentSettings['sandbox_mode']) =>
    (await start({ role: 'r' }, agentIn({ working_directory: folder, sandbox_mode }))).settings.sandbox_mode;
  expect(await under('danger-full-access')).toBe('workspace-write');
  expect(await under('read-only')).toBe('read-only');
});

test('list_agents tells of the roles of files, as they bind', async () => {
  const { folder } = place();
  const context = contextIn(folder, { environment: { HOME: join(folder, 'home') } });
  const args = listAgents.parameters.parse({});
  const { agents } = JSON.parse((await listAgents.run(args, context)) as string);
  expect(agents.find((agent: { agent_type: string }) => agent.agent_type === 'critic')).toEqual({
    agent_type: 'critic',
    description: 'Finds fault.',
    allow_list: ['read_file', 'view_image', 'handle_read', 'grep_files'],
    deny_list: null,
    agent_names: [{ name: 'kind', description: null }],
  });
});
