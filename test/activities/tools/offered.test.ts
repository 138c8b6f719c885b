import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool } from '../../../activities/tools/define-tool.ts';
import { offeredTools, planCall, searchesWeb } from '../../../activities/tools/offered.ts';
import { agentSettingsSchema, DIALECT_TOOLS, type Dialect } from '../../../protocol/index.ts';
import { agentIn, sessionWith } from './tool-context.ts';

const SHELL = ['shell', 'exec_command', 'write_stdin'];
const READS = ['read_file', 'list_dir', 'grep_files', 'view_image', 'handle_read'];
const WORK = [...SHELL, 'apply_patch', ...READS, 'update_plan'];
/** In the order in which they are offered. */
const SUB_AGENTS = [
  'list_agents',
  'spawn_agent',
  'send_input',
  'wait',
  'close_agent',
  'resume_agent',
  'list_active_agents',
  'set_thread_note',
];

const names = (agent = agentIn({ working_directory: '/' }), session = sessionWith()) =>
  offeredTools(agent, session, builtinTools).map((tool) => tool.name);
const NO_IMAGE = 'is no address of an image that a model takes: https://…, http://… or data:image/…';
const plan = (
  name: string,
  args: string,
  agent = agentIn({ working_directory: '/' }),
  session = sessionWith(),
) => planCall(agent, session, builtinTools, { call_id: 'c1', name, arguments: args });
const limited = (max_depth: number) => agentSettingsSchema.shape.limits.parse({ max_depth });

describe('what is offered', () => {
  test.each(['shell', 'exec_command', 'remember', 'apply_patch'])(
    'a %s of a team is none of Cadre: no agent that only reads has it with effects, and it needs no memory',
    (name) => {
      const own = (effects: 'none' | 'some') => {
        const spec = { name, description: 'Own.', effects, parameters: z.object({}), run: async () => '' };
        return [defineTool(spec)];
      };
      const reader = agentIn({
        working_directory: '/',
        tool_policy: { allow: [], deny: [], read_only: true },
      });
      const has = (agent: typeof reader, tools: ReturnType<typeof own>) =>
        offeredTools(agent, sessionWith(), tools).some((tool) => tool.name === name);
      expect(has(reader, own('some'))).toBe(false);
      expect(has(reader, own('none'))).toBe(true);
      expect(has(agentIn({ working_directory: '/' }), own('some'))).toBe(true);
    },
  );

  test('all tools for work and those of the dialect', () => {
    expect(names()).toEqual([...WORK, ...SUB_AGENTS]);
  });

  test('toggles take away the plan and the sub-agent tools', () => {
    expect(names(undefined, sessionWith({ tools: { plan: false } }))).not.toContain('update_plan');
    expect(names(undefined, sessionWith({ tools: { subagent_tools: false } }))).toEqual(WORK);
  });

  test('at the depth limit the sub-agent tools are not there', () => {
    expect(names(agentIn({ working_directory: '/', limits: limited(1) }, 1))).toEqual(WORK);
    expect(names(agentIn({ working_directory: '/', limits: limited(0) }, 0))).toEqual(WORK);
    expect(names(agentIn({ working_directory: '/', limits: limited(2) }, 1))).toContain('spawn_agent');
  });

  test('the policy of the agent counts for both kinds', () => {
    const tool_policy = { allow: [['exec_command', 'wait', 'read_file']], deny: ['read_*'] };
    expect(names(agentIn({ working_directory: '/', tool_policy }))).toEqual([...SHELL, 'wait']);
  });
});

test.each<[object, object, boolean]>([
  [{}, {}, false],
  [{ web_search: true }, {}, true],
  [{ web_search: true }, { deny: ['web_*'] }, false],
  [{ web_search: true }, { allow: [['shell']] }, false],
  [{ web_search: true }, { allow: [['web_search']], read_only: true }, true],
])(
  'the provider’s own search is there with the toggles %j and the tools %j: %s',
  (tools, policy, expected) => {
    const tool_policy = { allow: [], deny: [], ...policy };
    expect(searchesWeb(agentIn({ working_directory: '/', tool_policy }), sessionWith({ tools }))).toBe(
      expected,
    );
  },
);

describe('the named dialect', () => {
  const NAMED = ['subagent_list', 'subagent_describe', 'subagent_run'];
  const named = (max_depth: number, depth: number) =>
    agentIn({ working_directory: '/', dialect: 'named', limits: limited(max_depth) }, depth);
  const ARGUMENTS = '{"name":"explorer","task":"look"}';

  test('offers its three tools and none of another dialect, unless they are switched off', async () => {
    expect(names(named(1, 0))).toEqual([...WORK, ...NAMED]);
    expect(names(named(1, 0), sessionWith({ tools: { subagent_tools: false } }))).toEqual(WORK);
    expect(await plan('spawn_agent', '{"message":"x"}', named(1, 0))).toMatchObject({
      error: { code: 'unknown_tool' },
    });
    for (const name of NAMED) {
      expect(await plan(name, ARGUMENTS)).toMatchObject({ error: { code: 'unknown_tool' } });
    }
  });

  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
  ])('inside a sub-agent, with a limit of %i at depth %i, refuses in its own words', async (most, depth) => {
    expect(names(named(most, depth))).toEqual(WORK);
    for (const name of NAMED) {
      expect(await plan(name, ARGUMENTS, named(most, depth))).toMatchObject({
        kind: 'refused',
        error: { code: 'limit_depth', message: 'Sub-agents are not enabled in this nested context' },
      });
    }
    expect(await plan('subagent_run', ARGUMENTS, named(most, depth - 1))).toMatchObject({
      kind: 'operation',
    });
  });

  test.each([
    '{"name":"explorer"}',
    '{"task":"look"}',
    '{"name":"","task":"look"}',
    '{"name":"explorer","task":"  "}',
    '{"name":"explorer","task":"look","id":"x"}',
    '{"name":',
  ])('refuses wrong arguments in words: %s', async (args) => {
    expect(await plan('subagent_run', args, named(1, 0))).toMatchObject({
      kind: 'refused',
      error: { message: expect.stringMatching(/^failed to parse function arguments: ./) },
    });
  });
});

describe('the mailbox dialect', () => {
  const MAILBOX = ['subagent_open', 'subagent_reply', 'subagent_mailbox', 'subagent_read', 'subagent_end'];
  const mailbox = (depth = 0, max_depth = 1) =>
    agentIn({ working_directory: '/', dialect: 'mailbox', limits: limited(max_depth) }, depth);

  test('offers its five tools and none of another dialect, unless they are switched off', async () => {
    expect(names(mailbox())).toEqual([...WORK, ...MAILBOX]);
    expect(names(mailbox(), sessionWith({ tools: { subagent_tools: false } }))).toEqual(WORK);
    expect(await plan('spawn_agent', '{"message":"x"}', mailbox())).toMatchObject({
      error: { code: 'unknown_tool' },
    });
    expect(await plan('subagent_open', '{"goal":"x"}')).toMatchObject({ error: { code: 'unknown_tool' } });
  });

  test('at the depth limit none are there, and a forced call is refused', async () => {
    expect(names(mailbox(1))).toEqual(WORK);
    expect(await plan('subagent_open', '{"goal":"x"}', mailbox(1))).toMatchObject({
      kind: 'refused',
      error: { code: 'limit_depth', message: 'Agent depth limit reached. Solve the task yourself.' },
    });
    expect(await plan('subagent_open', '{"goal":"x"}', mailbox(1, 2))).toMatchObject({ kind: 'operation' });
  });

  test('refuses wrong arguments in words, and an image that no model could be shown', async () => {
    expect(await plan('subagent_open', '{"goal":"x","colour":"red"}', mailbox())).toMatchObject({
      kind: 'refused',
      error: { message: expect.stringMatching(/^failed to parse function arguments: .*colour/) },
    });
    const image = '{"subagent_id":"x","message":"look","images":["/no/such.png"]}';
    expect(await plan('subagent_reply', image, mailbox())).toMatchObject({
      error: { code: 'invalid_arguments', message: expect.stringContaining('/no/such.png') },
    });
  });
});

describe('a plan that is wanted before work is handed out', () => {
  const due = (dialect: Dialect) => ({
    ...agentIn({ working_directory: '/', dialect }),
    plan_due: true as const,
  });

  test.each([
    ['collab', 'spawn_agent', '{"message":"x"}'],
    ['named', 'subagent_run', '{"name":"explorer","task":"x"}'],
    ['sessions', 'agent_open', '{"prompt":"x"}'],
    ['mailbox', 'subagent_open', '{"goal":"x"}'],
  ] as const)('has %s refuse %s until there is one', async (dialect, tool, args) => {
    expect(await plan(tool, args, due(dialect))).toMatchObject({
      kind: 'refused',
      error: { code: 'plan_missing', hint: expect.stringContaining('update_plan'), retryable: true },
    });
    const { plan_due: _, ...planned } = due(dialect);
    expect(await plan(tool, args, planned)).toMatchObject({ kind: 'operation' });
  });

  test('refuses nothing else, and nothing where the agent cannot plan', async () => {
    expect(await plan('wait', '{"ids":["x"]}', due('collab'))).toMatchObject({ kind: 'operation' });
    const unable = sessionWith({ tools: { plan: false } });
    expect(await plan('spawn_agent', '{"message":"x"}', due('collab'), unable)).toMatchObject({
      kind: 'operation',
    });
  });
});

test('no two dialects have a tool of the same name', () => {
  const all = Object.values(DIALECT_TOOLS).flatMap(({ operations, readers }) => [
    ...operations.map(({ name }) => name),
    ...readers,
  ]);
  expect(all.length).toBe(new Set(all).size);
});

test('the catalog of roles belongs to the dialect whose tools it is one of', async () => {
  for (const dialect of ['named', 'sessions', 'mailbox'] as const) {
    const agent = agentIn({ working_directory: '/', dialect });
    expect(names(agent)).not.toContain('list_agents');
    expect(await plan('list_agents', '{}', agent)).toMatchObject({ error: { code: 'unknown_tool' } });
  }
  expect(await plan('list_agents', '{"agent_type":"worker"}')).toEqual({
    kind: 'activity',
    call_id: 'c1',
    name: 'list_agents',
    effects: 'none',
    timeout_ms: 130_000,
    summary: 'worker',
  });
});

describe('a planned call', () => {
  test('of a tool for work becomes an activity with time to spare', async () => {
    expect(await plan('shell', '{"command": "npm test\\n --watch", "timeout_ms": 5000}')).toEqual({
      kind: 'activity',
      call_id: 'c1',
      name: 'shell',
      effects: 'some',
      timeout_ms: 30_000,
      summary: 'npm test --watch',
    });
    expect(await plan('read_file', '{"path":"a"}')).toMatchObject({
      kind: 'activity',
      effects: 'none',
      summary: 'a',
    });
    expect(await plan('local_shell', '{"command":["ls"]}')).toMatchObject({
      kind: 'activity',
      name: 'shell',
    });
  });

  test('of a sub-agent tool becomes an operation with its defaults filled in', async () => {
    expect(await plan('wait', '{"ids":["worker-1"]}')).toEqual({
      kind: 'operation',
      call_id: 'c1',
      name: 'wait',
      arguments: { ids: ['worker-1'], mode: 'any' },
      summary: 'worker-1',
    });
    expect(await plan('spawn_agent', '{"message":"look","agent_type":"explorer"}')).toMatchObject({
      summary: 'explorer look',
    });
  });

  test.each([
    ['shell', '{"command": '],
    ['shell', 'null'],
    ['shell', '[]'],
    ['shell', '{}'],
    ['shell', ''],
    ['read_file', '{"path": 5}'],
    ['read_file', '{"path":"a","more":1}'],
    ['read_file', '{"path":"a","__proto__":{"limit":1}}'],
    ['wait', '{"ids":[]}'],
    ['wait', '{"ids":["a"],"timeout_ms":0}'],
    ['spawn_agent', '{"message":"a","items":[]}'],
    ['spawn_agent', '{"message":"   "}'],
    ['list_agents', '{"agent_type":5}'],
    ['list_agents', '{"expanded":"yes"}'],
    ['list_agents', '{"role":"worker"}'],
  ])('with wrong arguments is refused in words: %s %s', async (name, args) => {
    expect(await plan(name, args)).toMatchObject({
      kind: 'refused',
      error: {
        code: 'invalid_arguments',
        message: expect.stringMatching(/^failed to parse function arguments: ./),
      },
    });
  });

  test.each([
    ['spawn_agent', {}],
    ['send_input', { id: 'worker-1' }],
  ])(
    'of %s with an image that no model takes says where it stands, and what is taken',
    async (name, args) => {
      for (const image_url of ['ftp://example.com/a.png', 'data:text/html,x', 'a.png', '']) {
        const items = [
          { type: 'text', text: 'look' },
          { type: 'image', image_url },
        ];
        expect(await plan(name, JSON.stringify({ ...args, items }))).toMatchObject({
          kind: 'refused',
          error: {
            code: 'invalid_arguments',
            message: `failed to parse function arguments: items.1.image_url: ${NO_IMAGE}`,
          },
        });
      }
    },
  );

  test('of an unknown tool is refused with the names that are known', async () => {
    expect(await plan('rm_rf', '{}')).toMatchObject({
      kind: 'refused',
      name: 'rm_rf',
      error: { code: 'unknown_tool', hint: `Available: ${[...WORK, ...SUB_AGENTS].join(', ')}.` },
    });
  });

  test('of a tool that is taken away says so', async () => {
    const denied = agentIn({ working_directory: '/', tool_policy: { allow: [], deny: ['shell'] } });
    for (const name of ['shell', 'local_shell']) {
      expect(await plan(name, '{"command":"ls"}', denied)).toMatchObject({
        error: { code: 'tool_not_allowed' },
      });
    }
    const off = sessionWith({ tools: { subagent_tools: false, plan: false } });
    for (const name of SUB_AGENTS) {
      expect(await plan(name, '{"message":"x"}', undefined, off)).toMatchObject({
        error: { code: 'tool_not_allowed' },
      });
    }
    expect(await plan('update_plan', '{}', undefined, off)).toMatchObject({
      error: { code: 'tool_not_allowed' },
    });
  });

  test('of a sub-agent tool at the depth limit is refused whatever its arguments', async () => {
    const deep = agentIn({ working_directory: '/', limits: limited(1) }, 1);
    for (const name of SUB_AGENTS) {
      expect(await plan(name, '{"message":"x"}', deep)).toMatchObject({
        kind: 'refused',
        error: { code: 'limit_depth', message: 'Agent depth limit reached. Solve the task yourself.' },
      });
    }
  });

  test('is refused or planned, but never throws, whatever the model writes', async () => {
    const name = fc.oneof(
      fc.constantFrom(...WORK, ...SUB_AGENTS, 'local_shell', '__proto__', 'constructor'),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(name, fc.oneof(fc.string(), fc.json()), async (tool, args) => {
        expect(['activity', 'operation', 'refused']).toContain((await plan(tool, args)).kind);
      }),
    );
  });

  test('survives a summary that throws and shows control characters to nobody', async () => {
    const odd = defineTool({
      name: 'odd',
      description: 'Odd.',
      effects: 'none',
      parameters: z.strictObject({ text: z.string() }),
      summary: ({ text }) => {
        if (text === '') throw new Error('no text');
        return text;
      },
      run: async () => '',
    });
    const call = (text: string) =>
      planCall(agentIn({ working_directory: '/' }), sessionWith(), [odd], {
        call_id: 'c',
        name: 'odd',
        arguments: JSON.stringify({ text }),
      });
    expect(await call('')).toMatchObject({ kind: 'activity', summary: '' });
    expect(await call('a\u001b[31m\nb')).toMatchObject({ summary: 'a [31m b' });
    expect((await call('x'.repeat(500))).summary).toHaveLength(120);
  });

  test('takes nothing from a tool that is not one of Cadre but what it is for', async () => {
    const tool = defineTool({
      name: 'own',
      description: 'Own.',
      effects: 'none',
      parameters: z.looseObject({}),
      commandSession: () => 'junk' as never,
      run: async () => '',
    });
    const call = { call_id: 'c', name: 'own', arguments: '{"items":[null,{"type":"local_image"}]}' };
    const planned = await planCall(agentIn({ working_directory: '/' }), sessionWith(), [tool], call);
    expect(planned).toEqual(expect.objectContaining({ kind: 'activity', name: 'own' }));
    expect(planned).not.toHaveProperty('command_session');
  });
});
