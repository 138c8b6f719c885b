import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createResolveRole, type RoleDeps } from '../../../activities/roles/resolve-role.ts';
import type { Role } from '../../../activities/roles/role.ts';
import { tighten } from '../../../activities/roles/tighten.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool } from '../../../activities/tools/define-tool.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import {
  type AgentSettings,
  agentSettingsSchema,
  CadreError,
  type RoleRequest,
} from '../../../protocol/index.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'cadre-roles-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  effects: 'some',
  parameters: z.strictObject({}),
  run: async () => '',
});

const patch = defineTool({ ...deploy, name: 'apply_patch', run: async () => '' });

interface Options {
  inherited?: Partial<AgentSettings>;
  session?: Record<string, unknown>;
  deps?: Partial<RoleDeps>;
  /** The parent's. */
  cwd?: string;
}

function resolve(
  request: Partial<RoleRequest>,
  { inherited = {}, session = {}, deps = {}, cwd = folder }: Options = {},
) {
  const { settings } = agentIn({
    provider: 'openai',
    model: 'gpt-a',
    ...inherited,
    working_directory: cwd,
  });
  const run = createResolveRole({
    sessions: { get: async () => sessionWith(session) },
    home: folder,
    listModels: async () => ['gpt-a', 'gpt-b'],
    ...deps,
  });
  return run({
    session_id: agentIn({ working_directory: '/' }).session_id,
    inherited: settings,
    role: undefined,
    ...request,
  });
}

async function settingsOf(request: Partial<RoleRequest>, options?: Options): Promise<AgentSettings> {
  const answer = await resolve(request, options);
  if (!answer.ok) throw new Error(answer.error.message);
  return answer.settings;
}

const limits = (values: object) => agentSettingsSchema.shape.limits.parse(values);

/** The names of what an agent with these settings is offered, on a worker that has tools of its own. */
const offeredTo = (settings: AgentSettings) => {
  const agent = { ...agentIn({ working_directory: folder }), settings };
  return offeredTools(agent, sessionWith(), [...builtinTools, deploy, patch]).map(({ name }) => name);
};

test('a child without a role is a default one and inherits everything', async () => {
  const inherited: Partial<AgentSettings> = {
    role: 'worker',
    instructions: 'Speak French.',
    reasoning_effort: 'high',
    sandbox_mode: 'danger-full-access',
    approval_policy: 'never',
    tool_policy: { allow: [['*']], deny: ['wait'] },
    limits: limits({ max_steps: 7 }),
  };
  expect(await settingsOf({}, { inherited })).toEqual({
    ...agentIn({ provider: 'openai', model: 'gpt-a', ...inherited, working_directory: folder }).settings,
    role: 'default',
  });
});

test('the text of another role replaces inherited instructions, that of the own role does not', async () => {
  const inherited = { role: 'worker', instructions: 'Speak French.' };
  expect((await settingsOf({ role: 'explorer' }, { inherited })).instructions).toBeUndefined();
  expect((await settingsOf({ role: 'worker' }, { inherited })).instructions).toBe('Speak French.');
});

test('the text of a role is told where it is asked for', async () => {
  expect(await resolve({ role: 'explorer' })).not.toHaveProperty('text');
  expect(await resolve({ role: 'explorer', with_text: true })).toMatchObject({
    text: expect.stringContaining('You find things out'),
  });
});

test('an explorer cannot write: not by sandbox, not by tools, nor can its children', async () => {
  for (const sandbox_mode of ['danger-full-access', 'workspace-write', 'read-only'] as const) {
    const explorer = await settingsOf({ role: 'search' }, { inherited: { sandbox_mode } });
    expect(explorer).toMatchObject({ role: 'explorer', sandbox_mode: 'read-only' });
    for (const settings of [explorer, await settingsOf({ role: 'worker' }, { inherited: explorer })]) {
      expect(settings.sandbox_mode).toBe('read-only');
      expect(offeredTo(settings)).not.toContain('apply_patch');
      expect(offeredTo(settings)).not.toContain('deploy');
      expect(offeredTo(settings)).toEqual(expect.arrayContaining(['shell', 'read_file', 'spawn_agent']));
    }
  }
});

test('an unknown role or persona is refused with what is accepted', async () => {
  expect(await resolve({ role: 'wizard' })).toEqual({
    ok: false,
    error: {
      code: 'unknown_role',
      message: 'There is no role "wizard".',
      hint: 'Accepted: default, explorer, orchestrator, search, worker.',
      retryable: false,
    },
  });
  expect(await resolve({ role: 'worker', persona: 'quick' })).toMatchObject({
    ok: false,
    error: { code: 'unknown_role', hint: 'Accepted: none.' },
  });
});

test('a model of the call is taken when the provider has it, by alias too', async () => {
  expect((await settingsOf({ model: 'gpt-b' })).model).toBe('gpt-b');
  expect((await settingsOf({ model: 'inherit' })).model).toBe('gpt-a');
  const session = { model_aliases: { fast: 'gpt-b' } };
  expect((await settingsOf({ model: 'fast' }, { session })).model).toBe('gpt-b');
});

test('an unknown model is refused with the models there are', async () => {
  expect(await resolve({ model: 'gpt-z' })).toMatchObject({
    ok: false,
    error: { code: 'unknown_model', hint: 'Accepted: gpt-a, gpt-b.' },
  });
  const configured = { session: { model_providers: { openai: { models: ['x'] } } } };
  expect(await resolve({ model: 'gpt-b' }, configured)).toMatchObject({ error: { hint: 'Accepted: x.' } });
});

test('a model outside of the allowed ones is refused, also when the provider has it', async () => {
  const inherited = { limits: limits({ allowed_models: ['gpt-a'] }) };
  expect(await resolve({ model: 'gpt-b' }, { inherited })).toMatchObject({
    ok: false,
    error: { code: 'unknown_model', message: expect.stringContaining('allowed'), hint: 'Accepted: gpt-a.' },
  });
});

test('the rehearsal, and providers that do not list their models, take any; a script takes those that it lists', async () => {
  expect((await settingsOf({ model: 'any' }, { inherited: { provider: 'rehearsal' } })).model).toBe('any');
  const listed = { listModels: async () => ['script'] };
  const script = { inherited: { provider: 'script' }, deps: listed };
  expect((await settingsOf({ model: 'script' }, script)).model).toBe('script');
  expect(await resolve({ model: 'any' }, script)).toMatchObject({
    ok: false,
    error: { code: 'unknown_model', hint: 'Accepted: script.' },
  });
  const deps = { listModels: async () => undefined };
  expect((await settingsOf({ model: 'any' }, { deps })).model).toBe('any');
});

test('a list of models that cannot be had now is a reason to try again', async () => {
  for (const error of [
    new Error('connection lost'),
    new CadreError('model_unreachable', 'connection lost', { retryable: true }),
  ]) {
    const deps = { listModels: () => Promise.reject(error) };
    expect(await resolve({ model: 'gpt-b' }, { deps })).toMatchObject({
      ok: false,
      error: {
        code: 'models_updating',
        retryable: true,
        message: expect.stringContaining('connection lost'),
      },
    });
    expect((await resolve({}, { deps })).ok).toBe(true);
  }
});

test('an effort that does not exist is refused with those that do', async () => {
  expect((await settingsOf({ reasoning_effort: 'low' })).reasoning_effort).toBe('low');
  expect(await resolve({ reasoning_effort: 'enormous' })).toMatchObject({
    ok: false,
    error: { code: 'invalid_arguments', hint: expect.stringContaining('xhigh') },
  });
});

const choosy: Role = {
  name: 'choosy',
  description: 'Has its own mind.',
  body: 'You choose.',
  model: 'of-role',
  reasoning_effort: 'low',
  agent_names: [
    { name: 'own', model: 'of-persona', reasoning_effort: 'medium' },
    { name: 'plain' },
    { name: 'as-parent', model: 'inherit' },
  ],
};
const chosen = async (request: Partial<RoleRequest>, role: Partial<Role> = {}) => {
  const { model, reasoning_effort } = await settingsOf(request, {
    inherited: { model: 'of-parent', reasoning_effort: 'minimal' },
    deps: { roleNamed: () => ({ ...choosy, ...role }), listModels: async () => undefined },
  });
  return [model, reasoning_effort];
};

test('model and effort come from the call, else the persona, else the role, else the parent', async () => {
  const call = { model: 'of-call', reasoning_effort: 'high' };
  expect(await chosen({ ...call, persona: 'own' })).toEqual(['of-call', 'high']);
  expect(await chosen({ persona: 'own' })).toEqual(['of-persona', 'medium']);
  expect(await chosen({ persona: 'plain' })).toEqual(['of-role', 'low']);
  expect(await chosen({})).toEqual(['of-role', 'low']);
  expect(await chosen({}, { model: undefined, reasoning_effort: undefined })).toEqual([
    'of-parent',
    'minimal',
  ]);
});

test('model and effort are chosen each for itself', async () => {
  expect(await chosen({ persona: 'own', model: 'of-call' })).toEqual(['of-call', 'medium']);
  expect(await chosen({ persona: 'own', reasoning_effort: 'high' })).toEqual(['of-persona', 'high']);
  expect(await chosen({}, { model: undefined })).toEqual(['of-parent', 'low']);
  expect(await chosen({}, { reasoning_effort: undefined })).toEqual(['of-role', 'minimal']);
});

test('to inherit is a choice as well: it wins over what stands further from the call', async () => {
  expect((await chosen({ persona: 'own', model: 'inherit' }))[0]).toBe('of-parent');
  expect((await chosen({ persona: 'as-parent' }))[0]).toBe('of-parent');
});

const efforts = { openai: { reasoning_efforts: { 'gpt-b': ['low', 'high'], 'gpt-*': ['medium'] } } };

test('an effort that the chosen model does not take is refused with those it does, wherever it comes from', async () => {
  const session = { model_providers: efforts };
  const refused = (effort: string, model: string, accepted: string) => ({
    ok: false,
    error: {
      code: 'invalid_arguments',
      message: `The model "${model}" does not support the reasoning_effort "${effort}".`,
      hint: `Accepted: ${accepted}.`,
      retryable: false,
    },
  });
  const named = { model: 'gpt-b', reasoning_effort: 'medium' };
  expect(await resolve(named, { session })).toEqual(refused('medium', 'gpt-b', 'low, high'));
  expect(await resolve({ reasoning_effort: 'high' }, { session })).toEqual(
    refused('high', 'gpt-a', 'medium'),
  );
  const deps = { roleNamed: () => ({ ...choosy, model: 'gpt-a' }) };
  expect(await resolve({}, { session, deps })).toEqual(refused('low', 'gpt-a', 'medium'));
  const inherited = { reasoning_effort: 'medium' } as const;
  expect(await resolve({ model: 'gpt-b' }, { session, inherited })).toEqual(
    refused('medium', 'gpt-b', 'low, high'),
  );
  expect(await resolve({ reasoning_effort: 'enormous' }, { session })).toMatchObject({
    error: { hint: 'Accepted: medium.' },
  });
});

test('an effort that the model takes is taken, and what the parent has is left as it is', async () => {
  const session = { model_providers: efforts };
  expect(await settingsOf({ model: 'gpt-b', reasoning_effort: 'high' }, { session })).toMatchObject({
    model: 'gpt-b',
    reasoning_effort: 'high',
  });
  const inherited = { reasoning_effort: 'xhigh' } as const;
  expect((await settingsOf({}, { session, inherited })).reasoning_effort).toBe('xhigh');
});

test('the working directory of the parent is accepted under any of its names', async () => {
  symlinkSync(folder, join(folder, 'self'));
  for (const working_directory of [
    '.',
    folder,
    'self',
    join(folder, 'self'),
    `${folder}/self/..`,
    `${folder}/`,
  ]) {
    expect((await settingsOf({ working_directory })).working_directory).toBe(folder);
  }
});

test('another working directory is refused where nobody can be asked, whatever the policy', async () => {
  mkdirSync(join(folder, 'sub'));
  symlinkSync('/', join(folder, 'out'));
  for (const approval_policy of ['never', 'on-request', 'untrusted'] as const) {
    for (const working_directory of ['sub', '..', '/', 'out', '~']) {
      expect(await resolve({ working_directory }, { inherited: { approval_policy } })).toMatchObject({
        ok: false,
        error: { code: 'approval_unavailable', message: expect.stringContaining('nobody can be asked') },
      });
    }
  }
});

const asking = { session: { non_interactive: false } };

test('another working directory is asked about by its real path, and taken when it is allowed', async () => {
  mkdirSync(join(folder, 'sub'));
  symlinkSync('/', join(folder, 'out'));
  symlinkSync(join(folder, 'sub'), join(folder, 'link'));
  for (const [working_directory, real] of [
    ['sub', join(folder, 'sub')],
    ['./link/', join(folder, 'sub')],
    ['out', '/'],
  ] as const) {
    const asked = await resolve({ working_directory, role: 'explorer' }, asking);
    expect(asked).toMatchObject({
      ok: false,
      error: { code: 'approval_unavailable', message: expect.stringContaining('needs an approval: ') },
      needs_approval: { kind: 'directory', path: real },
    });
    const need = asked.ok ? undefined : asked.needs_approval;
    expect(need?.summary).toBe(`start an agent (explorer, sandbox read-only) in ${real}`);
    expect(need?.reason).toContain(`(${folder})`);
    const request = { working_directory, approved: true };
    expect(await settingsOf(request, asking)).toMatchObject({ working_directory: real });
  }
});

test('a child of an agent in another directory is asked about anew', async () => {
  mkdirSync(join(folder, 'sub'));
  const inherited = await settingsOf({ working_directory: 'sub', approved: true }, asking);
  expect(inherited.working_directory).toBe(join(folder, 'sub'));
  expect(
    await resolve({ working_directory: '..' }, { ...asking, inherited, cwd: join(folder, 'sub') }),
  ).toMatchObject({
    needs_approval: { path: folder },
  });
  const same = await resolve({ working_directory: '.' }, { ...asking, inherited, cwd: join(folder, 'sub') });
  expect(same).toMatchObject({ ok: true, settings: { working_directory: join(folder, 'sub') } });
});

test('under the policy never nobody is asked about a directory', async () => {
  mkdirSync(join(folder, 'sub'));
  const answer = await resolve(
    { working_directory: 'sub' },
    { ...asking, inherited: { approval_policy: 'never' } },
  );
  expect(answer).toMatchObject({
    ok: false,
    error: { code: 'approval_denied', message: expect.stringContaining('the approval policy is "never"') },
  });
  expect(answer).not.toHaveProperty('needs_approval');
});

test('nobody is asked about an agent that cannot be started anyway', async () => {
  mkdirSync(join(folder, 'sub'));
  for (const wrong of [
    { role: 'wizard' },
    { persona: 'nobody' },
    { model: 'gpt-z' },
    { reasoning_effort: 'enormous' },
  ]) {
    const answer = await resolve({ working_directory: 'sub', ...wrong }, asking);
    expect(answer.ok).toBe(false);
    expect(answer).not.toHaveProperty('needs_approval');
  }
});

test('a working directory that is none is refused as a mistake', async () => {
  writeFileSync(join(folder, 'file'), '');
  symlinkSync(join(folder, 'gone'), join(folder, 'dangling'));
  for (const working_directory of ['missing', 'file', 'file/x', 'dangling', 'a\0b', 'x'.repeat(5_000)]) {
    for (const approved of [false, true]) {
      const answer = await resolve({ working_directory, approved }, asking);
      expect(answer).toMatchObject({ ok: false, error: { code: 'invalid_arguments' } });
      expect(answer).not.toHaveProperty('needs_approval');
    }
  }
});

test('a role only tightens', () => {
  const inherited = agentIn({
    working_directory: '/',
    sandbox_mode: 'read-only',
    tool_policy: { allow: [['a', 'b']], deny: ['c'] },
    limits: limits({ max_steps: 10, max_turns: 2 }),
  }).settings;
  const role = {
    name: 'r',
    description: 'd',
    body: 'b',
    tools: ['b', 'c', 'd'],
    deny_list: ['x'],
    max_steps: 50,
    max_turns: 1,
  };
  const once = tighten(inherited, role);
  expect(once).toMatchObject({
    sandbox_mode: 'read-only',
    tool_policy: {
      allow: [
        ['a', 'b'],
        ['b', 'c', 'd'],
      ],
      deny: ['c', 'x'],
    },
    limits: { max_steps: 10, max_turns: 1 },
  });
  expect(tighten({ ...inherited, ...once }, role)).toEqual(once);
});

test('a share of the tokens is the persona’s or else the role’s, and never more than what is inherited', async () => {
  const role: Role = {
    name: 'r',
    description: 'd',
    body: 'b',
    max_tokens: 5_000,
    agent_names: [{ name: 'deep', max_tokens: 50_000 }, { name: 'plain' }],
  };
  const shareOf = async (persona: string | undefined, inherited: object) => {
    const options = { inherited: { limits: limits(inherited) }, deps: { roleNamed: () => role } };
    return (await settingsOf({ role: 'r', ...(persona === undefined ? {} : { persona }) }, options)).limits
      .max_tokens;
  };
  expect(await shareOf(undefined, {})).toBe(5_000);
  expect(await shareOf('plain', {})).toBe(5_000);
  expect(await shareOf('deep', {})).toBe(50_000);
  expect(await shareOf('deep', { max_tokens: 20_000 })).toBe(20_000);
  expect(await shareOf(undefined, { max_tokens: 100 })).toBe(100);
});

test.each([
  ['workspace-write', 'read-only', true],
  ['workspace-write', 'workspace-write', true],
  ['workspace-write', 'danger-full-access', false],
  ['read-only', 'workspace-write', false],
  ['danger-full-access', 'workspace-write', true],
] as const)(
  'a call may make the sandbox stricter, never looser: in %s it asks for %s',
  async (mode, asked, ok) => {
    const answer = await resolve({ sandbox_mode: asked }, { inherited: { sandbox_mode: mode } });
    if (ok) expect(answer).toMatchObject({ ok, settings: { sandbox_mode: asked } });
    else {
      expect(answer).toMatchObject({
        ok,
        error: { code: 'not_permitted', hint: expect.stringContaining(mode) },
      });
    }
  },
);

test('nor looser than its role', async () => {
  const answer = await resolve({ role: 'explorer', sandbox_mode: 'workspace-write' });
  expect(answer).toMatchObject({ ok: false, error: { code: 'not_permitted', hint: 'Accepted: read-only.' } });
});

test.each([
  ['on-request', 'untrusted', true],
  ['on-request', 'never', true],
  ['untrusted', 'untrusted', true],
  ['untrusted', 'never', false],
  ['never', 'on-request', false],
] as const)('a call may ask for stricter approvals only: in %s it asks for %s', async (policy, asked, ok) => {
  const answer = await resolve({ approval_policy: asked }, { inherited: { approval_policy: policy } });
  expect(answer.ok).toBe(ok);
  if (answer.ok) expect(answer.settings.approval_policy).toBe(asked);
});

test('a person who is asked about another folder is told of the sandbox that the call asks for', async () => {
  const other = join(folder, 'other');
  mkdirSync(other);
  const answer = await resolve(
    { working_directory: other, sandbox_mode: 'read-only' },
    { session: { non_interactive: false } },
  );
  expect(answer).toMatchObject({ needs_approval: { summary: expect.stringContaining('sandbox read-only') } });
});

test('says where the rollout of the session goes, where one is written', async () => {
  const deps = { rolloutPath: (session: string) => `/rollouts/${session}.jsonl` };
  const place = { rollout_path: expect.stringMatching(/^\/rollouts\/a.*\.jsonl$/) };
  expect(await resolve({}, { deps, session: { rollout: true } })).toMatchObject(place);
  expect(await resolve({}, { deps })).not.toHaveProperty('rollout_path');
  expect(await resolve({}, { session: { rollout: true } })).not.toHaveProperty('rollout_path');
});
