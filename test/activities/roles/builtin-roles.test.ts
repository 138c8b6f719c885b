import { expect, test } from 'vitest';
import { z } from 'zod';
import { builtinRoles, findBuiltin } from '../../../activities/roles/builtin-roles.ts';
import { createResolveRole } from '../../../activities/roles/resolve-role.ts';
import { RoleCatalog } from '../../../activities/roles/role-catalog.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool } from '../../../activities/tools/define-tool.ts';
import { offeredTools, planCall } from '../../../activities/tools/offered.ts';
import type { AgentContext, Dialect, RoleRequest } from '../../../protocol/index.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const session = sessionWith({ memory: { path: '/nowhere/memory.md' } });
const withEffects = (name: string) =>
  defineTool({
    name,
    description: 'Writes.',
    effects: 'some',
    parameters: z.strictObject({}),
    run: async () => '',
  });
const tools = [...builtinTools, withEffects('deploy')];

const resolve = createResolveRole({
  sessions: { get: async () => session },
  listModels: async () => undefined,
  ownTools: new Set(['deploy']),
  home: '/nowhere',
});

async function started(request: Partial<RoleRequest>, parent = agentIn({ working_directory: '/' })) {
  const { session_id, settings: inherited } = parent;
  const answer = await resolve({ session_id, inherited, role: undefined, ...request });
  if (!answer.ok) throw new Error(`${answer.error.message} ${answer.error.hint}`);
  return { ...parent, settings: answer.settings };
}
const offered = (agent: AgentContext) => offeredTools(agent, session, tools).map(({ name }) => name);

function parent(): Pick<RoleRequest, 'session_id' | 'inherited'> {
  const { session_id, settings } = agentIn({ working_directory: '/' });
  return { session_id, inherited: settings };
}

test('the roles that come with Cadre', () => {
  expect([...builtinRoles().keys()]).toEqual(
    [
      ...['default', 'orchestrator', 'worker', 'explorer'],
      ...['general', 'explore', 'plan', 'review', 'implementer', 'verifier', 'custom'],
    ].sort(),
  );
});

const READS = ['read_file', 'list_dir', 'grep_files', 'handle_read', 'update_plan'];
const WRITES = ['apply_patch', 'deploy'];

test.each([
  ['default', 'workspace-write', ['shell', ...READS, ...WRITES], []],
  ['orchestrator', 'workspace-write', ['shell', 'spawn_agent', ...READS, ...WRITES], []],
  ['worker', 'workspace-write', ['shell', ...READS, ...WRITES], []],
  ['general', 'workspace-write', ['shell', ...READS, ...WRITES], []],
  ['implementer', 'workspace-write', ['shell', ...READS, ...WRITES], []],
  ['explorer', 'read-only', ['shell', ...READS, 'remember'], WRITES],
  ['explore', 'read-only', ['shell', ...READS, 'remember'], WRITES],
  ['plan', 'read-only', ['shell', ...READS, 'remember'], WRITES],
  ['review', 'read-only', [...READS, 'remember'], ['shell', 'local_shell', ...WRITES]],
  ['verifier', 'workspace-write', ['shell', ...READS], ['apply_patch']],
])(
  'the stance of %s holds by sandbox and tools, for it and for whom it starts',
  async (role, sandbox, has, lacks) => {
    const agent = await started({ role });
    for (const one of [agent, await started({ role: 'worker' }, agent)]) {
      expect(one.settings.sandbox_mode).toBe(sandbox);
      expect(offered(one)).toEqual(expect.arrayContaining(has));
      for (const name of lacks) {
        expect(offered(one)).not.toContain(name);
        const call = { call_id: 'c', name, arguments: '{}' };
        expect(await planCall(one, session, tools, call), name).toMatchObject({
          error: { code: 'tool_not_allowed' },
        });
      }
    }
  },
);

test('custom has exactly the tools that the call names, under any of their names', async () => {
  expect(offered(await started({ role: 'custom', allowed_tools: ['read_file', 'exec_command'] }))).toEqual([
    'shell',
    'exec_command',
    'write_stdin',
    'read_file',
  ]);
  expect(offered(await started({ role: 'CUSTOM', allowed_tools: ['Read', 'Grep'] }))).toEqual([
    'read_file',
    'grep_files',
    'view_image',
    'handle_read',
  ]);
});

test('custom without tools is refused, and so is an empty list for any role', async () => {
  for (const allowed_tools of [undefined, [], [' ']]) {
    const asked = allowed_tools === undefined ? {} : { allowed_tools };
    await expect(started({ role: 'custom', ...asked })).rejects.toThrow('allowed_tools, which names none.');
  }
  await expect(started({ role: 'worker', allowed_tools: [] })).rejects.toThrow('allowed_tools names no tool');
});

test('a call that names only tools that nobody has starts no agent; of one that names some in vain a notice tells', async () => {
  const asked = (allowed_tools: string[]) => resolve({ ...parent(), role: 'custom', allowed_tools });
  for (const vain of [['WebFetch'], ['fetch_page', 'Bash(git log:*)']]) {
    const answer = await asked(vain);
    expect(answer).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } });
    if (!answer.ok) for (const name of vain) expect(answer.error.message).toContain(JSON.stringify(name));
  }
  expect(await asked(['Read', 'WebFetch', 'fetch_page'])).toMatchObject({
    ok: true,
    notices: ['allowed_tools names what is no tool here: "WebFetch", "fetch_page"'],
  });
  for (const fine of [['deploy'], ['read_*'], ['mcp__github'], ['Task']]) {
    const answer = await asked(fine);
    expect(answer, fine[0]).toMatchObject({ ok: true });
    expect(answer, fine[0]).not.toHaveProperty('notices');
  }
});

test('the tools of a call are among those of the role', async () => {
  const agent = await started({ role: 'review', allowed_tools: ['shell', 'read_file', 'apply_patch'] });
  expect(offered(agent)).toEqual(['read_file']);
});

test.each([
  ['general', ['General', 'WORKER', 'default', 'general-purpose']],
  ['explore', ['EXPLORE', 'Explorer', 'exploration']],
  ['plan', ['planning', 'Awaiter']],
  ['review', ['reviewer', 'Code-Review']],
  ['implementer', ['IMPLEMENT', 'implementation', 'builder']],
  ['verifier', ['verify', 'Verification', 'validator', 'tEsTeR']],
])('in the dialect sessions %s goes by its aliases, in any case', (role, names) => {
  for (const name of [role, ...names]) expect(findBuiltin(name, 'sessions')?.name, name).toBe(role);
});

test('each dialect lists its own, and a refusal tells the accepted set', () => {
  const listed = (dialect: Dialect) => new RoleCatalog([], dialect).all().map(({ role }) => role.name);
  expect(listed('collab')).toEqual(['default', 'explorer', 'orchestrator', 'worker']);
  expect(listed('sessions')).toEqual([
    ...['custom', 'explore', 'general', 'implementer', 'plan', 'review', 'verifier'],
  ]);
  const sessions = new RoleCatalog([], 'sessions');
  for (const name of ['wizard', '', '../explore', 'ex plore', '🦊', 'constructor', '__proto__']) {
    expect(() => sessions.named(name)).toThrow('There is no role');
  }
  expect(sessions.names()).toHaveLength(7 + 16);
  expect(sessions.names()).toEqual(expect.arrayContaining(['code-review', 'explorer', 'tester', 'worker']));
});

test('in the other dialects the same names mean the roles that they have', () => {
  expect(findBuiltin('worker', 'collab')?.name).toBe('worker');
  expect(findBuiltin('Explorer', 'collab')?.name).toBe('explorer');
  expect(findBuiltin('SEARCH', 'collab')?.name).toBe('explorer');
  expect(findBuiltin('verifier', 'collab')?.name).toBe('verifier');
  expect(findBuiltin('nobody', 'collab')).toBeUndefined();
});
