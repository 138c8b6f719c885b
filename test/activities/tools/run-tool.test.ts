import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import { ownName } from '../../../activities/file-owner.ts';
import { identityOf } from '../../../activities/patch/patch-journal.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { defineTool, type Tool, type ToolResult } from '../../../activities/tools/define-tool.ts';
import { createToolActivities, type ToolDeps } from '../../../activities/tools/run-tool.ts';
import type { AgentSettings, ToolAnswer } from '../../../protocol/index.ts';
import { CadreError } from '../../../protocol/index.ts';
import { handlePath } from '../../../rollout/handle-files.ts';
import { eventually, processesWith, uniqueSeconds } from '../sandbox/processes.ts';
import { agentIn, noTranscripts, sessionWith } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-run-tool-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Call {
  name: string;
  args?: unknown;
  settings?: Partial<AgentSettings>;
  deps?: Partial<ToolDeps>;
  session?: Record<string, unknown>;
  environment?: MockActivityEnvironment;
  approved?: boolean;
}

async function call({
  name,
  args = {},
  settings = {},
  deps = {},
  session = {},
  environment,
  approved,
}: Call): Promise<ToolAnswer> {
  const activities = createToolActivities({
    sessions: { get: async () => sessionWith(session) },
    tools: builtinTools,
    remember: () => {},
    stateDir: join(folder, 'state'),
    readTranscript: noTranscripts,
    commands: new CommandSessions(),
    fallbackEnvironment: { PATH: process.env.PATH ?? '/usr/bin:/bin', FALLBACK: 'yes' },
    ...deps,
  });
  const run = activities[name];
  if (run === undefined) throw new Error(`no activity ${name}`);
  const request = {
    agent: agentIn({ sandbox_mode: 'danger-full-access', ...settings, working_directory: folder }),
    call: {
      type: 'tool_call' as const,
      call_id: 'c1',
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    },
    ...(approved === undefined ? {} : { approved }),
  };
  return (await (environment ?? new MockActivityEnvironment()).run(run, request)) as ToolAnswer;
}

const errorOf = (answer: ToolAnswer) => JSON.parse(answer.output).error;

function toolThat(
  run: (signal: AbortSignal) => Promise<ToolResult | string>,
  spec: Partial<Tool> = {},
): Tool {
  const tool = defineTool({
    name: 'custom',
    description: 'For this test.',
    effects: 'some',
    parameters: z.strictObject({}),
    run: (_, { signal }) => run(signal),
  });
  return { ...tool, ...spec };
}
const custom = (tool: Tool, more: Partial<Call> = {}) =>
  call({ name: 'custom', deps: { tools: [tool] }, ...more });

test('a tool runs under its name and under its alias', async () => {
  expect(await call({ name: 'shell', args: { command: 'echo hi' } })).toMatchObject({ success: true });
  expect((await call({ name: 'local_shell', args: { command: ['echo', 'hi'] } })).output).toContain('hi\n');
});

test('commands get the environment of the session, or else that of the worker', async () => {
  const own = { environment: { PATH: '/usr/bin:/bin', OWN: 'yes' } };
  const withOwn = await call({ name: 'shell', args: { command: 'env' }, session: own });
  expect(withOwn.output).toContain('OWN=yes');
  expect(withOwn.output).not.toContain('FALLBACK');
  expect((await call({ name: 'shell', args: { command: 'env' } })).output).toContain('FALLBACK=yes');
});

test('what a tool writes into its context counts for no later call', async () => {
  const tool = defineTool({
    name: 'custom',
    description: 'Writes where it should only read.',
    effects: 'some',
    parameters: z.strictObject({}),
    async run(_, context) {
      const { agent, environment } = context as unknown as {
        agent: { settings: AgentSettings };
        environment: Record<string, string>;
      };
      const found = `${agent.settings.sandbox_mode} ${environment.MARK}`;
      agent.settings.sandbox_mode = 'danger-full-access';
      environment.MARK = 'mine';
      return found;
    },
  });
  const session = sessionWith({ environment: { MARK: 'theirs' } });
  const { custom } = createToolActivities({
    sessions: { get: async () => session },
    tools: [tool],
    remember: () => {},
    stateDir: join(folder, 'state'),
    readTranscript: noTranscripts,
    commands: new CommandSessions(),
    fallbackEnvironment: {},
  });
  const agent = agentIn({ sandbox_mode: 'read-only', working_directory: folder });
  const once = { type: 'tool_call' as const, call_id: 'c1', name: 'custom', arguments: '{}' };
  for (const _ of [1, 2]) {
    const answer = await new MockActivityEnvironment().run(custom as never, { agent, call: once });
    expect(answer).toMatchObject({ output: 'read-only theirs' });
  }
});

test('a path may be relative, absolute or under the home folder', async () => {
  writeFileSync(join(folder, 'a.txt'), 'text\n');
  const session = { environment: { HOME: folder } };
  for (const path of ['a.txt', './x/../a.txt', join(folder, 'a.txt'), '~/a.txt']) {
    expect((await call({ name: 'read_file', args: { path }, session })).output).toBe('1\ttext');
  }
});

test('a path with a NUL byte is refused in words, by every tool', async () => {
  const path = 'a\0b';
  const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  const calls: Call[] = [
    ...['read_file', 'list_dir', 'view_image'].map((name) => ({ name, args: { path } })),
    { name: 'grep_files', args: { path, pattern: 'x' } },
    { name: 'grep_files', args: { pattern: 'x', include: path } },
    { name: 'shell', args: { command: 'ls', workdir: path } },
    { name: 'exec_command', args: { cmd: 'ls', workdir: path } },
    { name: 'apply_patch', args: { input: patch(`*** Add File: ${path}`, '+x') } },
    { name: 'apply_patch', args: { input: patch('*** Add File: a', '+x\0y') } },
  ];
  const own = defineTool({
    name: 'custom',
    description: 'For this test.',
    effects: 'some',
    parameters: z.strictObject({}),
    run: async (_, context) => context.resolve(path),
  });
  for (const answer of [...(await Promise.all(calls.map(call))), await custom(own)]) {
    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('contains a NUL byte'),
    });
  }
  expect(existsSync(join(folder, 'a'))).toBe(false);
});

test('what the system says is told in words', async () => {
  const system = toolThat(() => readFile(join(folder, 'none')).then(String));
  expect(errorOf(await custom(system)).message).toBe(
    `custom failed: ${join(folder, 'none')} does not exist (ENOENT)`,
  );
  const { message } = errorOf(
    await call({ name: 'remember', args: { note: 'x' }, settings: { memory: { path: folder } } }),
  );
  expect(message).toBe(`The memory ${folder} is a folder, not a file.`);
});

test('however long a name is, the reason is told', async () => {
  const long = 'x'.repeat(300_000);
  for (const [name, args, reason] of [
    ['read_file', { path: long }, 'too long'],
    ['list_dir', { path: 'b/'.repeat(100_000) }, 'does not exist'],
    ['view_image', { path: long }, 'too long'],
    ['grep_files', { pattern: 'a', path: long }, 'too long'],
    ['grep_files', { pattern: 'a', include: long }, 'include: Too big'],
    ['apply_patch', { input: `*** Begin Patch\n*** Add File: ${long}\n+x\n*** End Patch` }, 'too long'],
  ] as const) {
    const { message } = errorOf(await call({ name, args }));
    expect(message, name).toContain(reason);
    expect(message.length, name).toBeLessThan(5_000);
  }
});

test('the rule for tools and the arguments are checked again when the call runs', async () => {
  const tool_policy = { allow: [], deny: ['shell'] };
  const denied = await call({
    name: 'shell',
    args: { command: `touch ${folder}/x` },
    settings: { tool_policy },
  });
  expect(denied.success).toBe(false);
  expect(errorOf(denied)).toMatchObject({ code: 'tool_not_allowed' });
  expect(existsSync(join(folder, 'x'))).toBe(false);
  expect(errorOf(await call({ name: 'read_file', args: '{"path"' }))).toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('failed to parse function arguments'),
  });
});

test('a missing approval is marked, so that the run can end accordingly', async () => {
  const answer = await call({
    name: 'shell',
    args: { command: 'touch x' },
    settings: { approval_policy: 'untrusted' },
  });
  expect(answer).toMatchObject({ success: false, approval_missing: true });
  expect(errorOf(answer).code).toBe('approval_unavailable');
});

const deploy = (done: string[]): Tool =>
  defineTool({
    name: 'deploy',
    description: 'Deploys.',
    effects: 'some',
    parameters: z.strictObject({ host: z.string() }),
    run: async ({ host }, { approved }) => {
      if (!approved) {
        const reason = 'it changes what users see';
        throw new ApprovalNeeded({ kind: 'command', summary: `deploy to ${host}`, reason, key: host });
      }
      done.push(host);
      return 'deployed';
    },
  });
const asking = { non_interactive: false };

test('a tool that needs an approval has done nothing until it is called again with it', async () => {
  const done: string[] = [];
  const remembered: string[] = [];
  const deps: Partial<ToolDeps> = {
    tools: [deploy(done)],
    remember: (_agent, _call, output) => remembered.push(output),
  };
  const asked = { name: 'deploy', args: { host: 'a' }, session: asking, deps };
  for (const approval_policy of ['on-request', 'untrusted'] as const) {
    for (const approved of [undefined, false]) {
      const settings = { approval_policy };
      expect(await call({ ...asked, settings, ...(approved === undefined ? {} : { approved }) })).toEqual({
        output: '',
        success: false,
        needs_approval: {
          kind: 'command',
          summary: 'deploy to a',
          reason: 'it changes what users see',
          key: 'deploy a',
        },
      });
    }
  }
  expect(done).toEqual([]);
  expect(remembered).toEqual([]);
  expect(await call({ ...asked, approved: true })).toEqual({ output: 'deployed', success: true });
  expect(done).toEqual(['a']);
  expect(remembered).toEqual(['deployed']);
});

test('where nobody can be asked, and where the policy is never to ask, it is refused at once', async () => {
  const done: string[] = [];
  const deps = { tools: [deploy(done)] };
  const unattended = await call({ name: 'deploy', args: { host: 'a' }, deps });
  expect(unattended).toMatchObject({ success: false, approval_missing: true });
  expect(unattended.needs_approval).toBeUndefined();
  expect(errorOf(unattended)).toMatchObject({
    code: 'approval_unavailable',
    message: 'This call needs an approval, and nobody can be asked: it changes what users see.',
  });
  const settings = { approval_policy: 'never' } as const;
  const never = await call({ name: 'deploy', args: { host: 'a' }, deps, settings, session: asking });
  expect(never.success).toBe(false);
  expect(never.needs_approval).toBeUndefined();
  expect(never.approval_missing).toBeUndefined();
  expect(errorOf(never)).toMatchObject({
    code: 'approval_denied',
    message: expect.stringContaining('the approval policy is "never"'),
  });
  expect(done).toEqual([]);
});

test('what an agent may not call, and wrong arguments, are refused before anybody is asked', async () => {
  const deps = { tools: [deploy([])] };
  const tool_policy = { allow: [], deny: ['deploy'] };
  const denied = { name: 'deploy', args: { host: 'a' }, deps, session: asking, settings: { tool_policy } };
  for (const approved of [false, true]) {
    expect(errorOf(await call({ ...denied, approved })).code).toBe('tool_not_allowed');
    const wrong = await call({ ...denied, args: { host: 5 }, settings: {}, approved });
    expect(errorOf(wrong).code).toBe('invalid_arguments');
  }
});

test('a tool that asks for what it has is told so, and asked no person again', async () => {
  const insatiable = toolThat(async () => {
    throw new ApprovalNeeded({ kind: 'command', summary: 's', reason: 'r', key: 'k' });
  });
  const answer = await custom(insatiable, { session: asking, approved: true });
  expect(answer.needs_approval).toBeUndefined();
  expect(errorOf(answer)).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('already') });
});

test('a shell command waits for a person where one is there', async () => {
  const settings = { approval_policy: 'untrusted' } as const;
  const asked = { name: 'shell', args: { command: 'touch x' }, settings, session: asking };
  expect((await call(asked)).needs_approval).toMatchObject({ kind: 'command', summary: 'touch x' });
  expect(existsSync(join(folder, 'x'))).toBe(false);
  expect((await call({ ...asked, approved: true })).success).toBe(true);
  expect(existsSync(join(folder, 'x'))).toBe(true);
});

test('the plan of update_plan travels with the answer', async () => {
  const plan = [{ step: 'a', status: 'in_progress' }];
  expect(await call({ name: 'update_plan', args: { plan } })).toMatchObject({
    success: true,
    plan: { plan },
  });
});

test('beside output and success nothing of what a team gives back is taken, well or badly formed', async () => {
  const result = { output: 'x', success: true, command_session: 'junk', plan: 7, image: { path: 1 } };
  const more = { handle: 'h_1', needs_approval: {}, approval_missing: true, of_its_own: Symbol('s') };
  const answer = await custom(toolThat(async () => ({ ...result, ...more }) as unknown as ToolResult));
  expect(answer).toEqual({ output: 'x', success: true });
});

test.each([
  [{}, 'an object without output'],
  [{ output: 7, success: true }, 'an output that is no text (number)'],
  [{ output: 'x', success: 'yes' }, 'a success that is neither true nor false (string)'],
  [undefined, 'undefined'],
])('for %j in place of a result the model is told what it is', async (result, what) => {
  const answer = await custom(toolThat(async () => result as unknown as ToolResult));
  expect(errorOf(answer)).toMatchObject({
    code: 'tool_failed',
    message: expect.stringContaining(`custom ended, but gave back ${what} in place of`),
  });
});

test('what providers refuse in a text is shown by a picture, and what has no end is told', async () => {
  for (const result of ['a\0b\ud800c', { output: 'a\0b\ud800c', success: true }]) {
    expect((await custom(toolThat(async () => result))).output).toBe('a\u2400b\ufffdc');
  }
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const given = (result: object) => custom(toolThat(async () => result as ToolResult));
  expect(errorOf(await given(circular)).message).toContain('an object without output');
  expect(errorOf(await given({ output: circular, success: true })).message).toContain('no text (object)');
  expect(await given({ output: 'x', success: true, circular })).toEqual({ output: 'x', success: true });
});

test('a person is asked nothing malformed, and no rule of a tool that is not one of Cadre', async () => {
  const need = { kind: 'command', summary: 's', reason: 'r', key: 'k' } as const;
  const askingFor = (made: object) =>
    custom(
      toolThat(async () => {
        throw new ApprovalNeeded(made as never);
      }),
      { session: asking },
    );
  for (const wrong of [{ kind: 'deploy' }, { summary: 7 }, { key: null }, { path: 5 }, { rule: 'all' }]) {
    const answer = await askingFor({ ...need, ...wrong });
    expect(answer.needs_approval, JSON.stringify(wrong)).toBeUndefined();
    expect(errorOf(answer).message).toContain(`${Object.keys(wrong)[0]}: `);
  }
  const rule = { command: 'rm *' };
  expect((await askingFor({ ...need, rule, more: 1 })).needs_approval).toEqual({ ...need, key: 'custom k' });
  // One that came with another copy of Cadre, or says that it did.
  const said = Object.assign(new Error('x'), { [Symbol.for('cadre.ApprovalNeeded')]: true, need: 7 });
  const answer = await custom(
    toolThat(() => Promise.reject(said)),
    { session: asking },
  );
  expect(errorOf(answer).code).toBe('tool_failed');
});

test('a check of arguments that throws is an answer, and one that waits is waited for', async () => {
  const checked = (check: () => boolean | Promise<boolean>) =>
    custom(toolThat(async () => 'ran', { parameters: z.strictObject({}).refine(check) }));
  const thrown = await checked(() => {
    throw new Error('in refine');
  });
  expect(errorOf(thrown)).toMatchObject({
    code: 'tool_failed',
    message: 'The check of the arguments of custom failed: in refine',
  });
  expect(await checked(async () => true)).toMatchObject({ output: 'ran', success: true });
});

test('a long output is cut and stored', async () => {
  const answer = await custom(toolThat(async () => 'line of text\n'.repeat(10_000)));
  expect(answer.output.length).toBeLessThan(41_000);
  expect(answer.output).toContain(`stored as ${answer.handle}`);
  const path = handlePath(join(folder, 'state'), answer.handle as string) as string;
  expect(readFileSync(path, 'utf8')).toHaveLength(130_000);
});

test('a long output that cannot be stored is shown cut all the same', async () => {
  writeFileSync(join(folder, 'state'), 'a file, no folder');
  const answer = await custom(toolThat(async () => 'x'.repeat(100_000)));
  expect(answer).toMatchObject({ success: true, output: expect.stringContaining('left out; not stored: ') });
  expect(answer.handle).toBeUndefined();
});

test('whatever a tool throws becomes an answer without a stack', async () => {
  const failing = (error: unknown) => custom(toolThat(async () => Promise.reject(error)));
  expect(
    errorOf(await failing(new CadreError('tool_failed', 'No luck.', { hint: 'Try again.' }))),
  ).toMatchObject({
    code: 'tool_failed',
    message: 'No luck.',
    hint: 'Try again.',
  });
  const plain = await failing(new TypeError('x is not a function'));
  expect(plain.success).toBe(false);
  expect(errorOf(plain)).toEqual({
    code: 'tool_failed',
    message: 'custom failed: x is not a function',
    retryable: false,
  });
  expect(errorOf(await failing('just text')).message).toBe('custom failed: just text');
  expect(errorOf(await failing(null)).message).toBe('custom failed: null');
  expect(errorOf(await failing(Object.create(null))).code).toBe('tool_failed');
  const odd = Object.assign(new CadreError('tool_failed', 'm'), { code: 'odd', hint: 1n });
  expect(errorOf(await failing(odd))).toEqual({ code: 'tool_failed', message: 'm', retryable: false });
  expect((await failing(new Error('y'.repeat(1e6)))).output.length).toBeLessThan(5_000);
});

test.each<[unknown, string]>([
  [
    new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:9') }),
    'fetch failed: connect ECONNREFUSED 127.0.0.1:9',
  ],
  [
    new TypeError('fetch failed', { cause: new AggregateError([new Error('::1'), new Error('127.0.0.1')]) }),
    'fetch failed: ::1; 127.0.0.1',
  ],
  [new Error('query: no table', { cause: new Error('no table') }), 'query: no table'],
  [{ message: 'of another library' }, 'of another library'],
  [{ status: 404 }, '{"status":404}'],
  [circular(), 'again'],
  [Object.defineProperty(new Error('odd'), 'code', { get: () => expect.fail('it is read') }), 'odd'],
  [
    Object.assign(new Error('connect ENOENT /run/a.sock'), { code: 'ENOENT', syscall: 'connect' }),
    'connect ENOENT /run/a.sock',
  ],
])('what a tool throws is told with what it came from: %#', async (thrown, told) => {
  const { message } = errorOf(await custom(toolThat(() => Promise.reject(thrown))));
  expect(message).toBe(`custom failed: ${told}`);
});

function circular(): Error {
  const [one, other] = [new Error('again'), new Error('again')];
  one.cause = other;
  other.cause = one;
  return one;
}

test('a tool that takes too long is stopped, even when it does not listen', async () => {
  const tool = toolThat(() => new Promise(() => {}), { timeoutMs: () => 300 });
  expect(errorOf(await custom(tool))).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('300 ms'),
  });
});

test('trouble that passes is thrown for tools that only read, and told for tools with effects', async () => {
  const busy = () => Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
  await expect(custom(toolThat(busy, { effects: 'none' }))).rejects.toMatchObject({ nonRetryable: false });
  expect(errorOf(await custom(toolThat(busy)))).toMatchObject({ code: 'tool_failed' });
  const third = new MockActivityEnvironment({ attempt: 3 });
  expect(errorOf(await custom(toolThat(busy, { effects: 'none' }), { environment: third }))).toMatchObject({
    code: 'tool_failed',
  });
});

test('settings that cannot be read run nothing: told for effects, thrown for reads', async () => {
  let ran = false;
  const run = async () => {
    ran = true;
    return '';
  };
  const sessions = { get: () => Promise.reject(new Error('no answer')) };
  const told = await custom(toolThat(run), { deps: { tools: [toolThat(run)], sessions } });
  expect(errorOf(told).message).toContain('Nothing was run');
  const reading = toolThat(run, { effects: 'none' });
  await expect(custom(reading, { deps: { tools: [reading], sessions } })).rejects.toThrow('no answer');
  expect(ran).toBe(false);
});

test('a cancelled command is gone when the cancellation is thrown', async () => {
  const seconds = uniqueSeconds();
  const environment = new MockActivityEnvironment();
  const running = call({
    name: 'shell',
    args: { command: `sleep ${seconds} & sleep ${seconds}` },
    environment,
  });
  running.catch(() => {});
  expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 2)).toBe(true);
  environment.cancel();
  await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  expect(processesWith(seconds)).toEqual([]);
});

test('a tool that ignores its cancellation is left behind', async () => {
  const environment = new MockActivityEnvironment();
  let told = false;
  const deaf = toolThat(async (signal) => {
    signal.addEventListener('abort', () => {
      told = true;
    });
    await sleep(60_000, undefined, { ref: false });
    return '';
  });
  const running = custom(deaf, { environment });
  running.catch(() => {});
  await sleep(100);
  environment.cancel();
  await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  expect(told).toBe(true);
});

test('heartbeats go on while a tool runs', async () => {
  const environment = new MockActivityEnvironment();
  let beats = 0;
  environment.on('heartbeat', () => {
    beats++;
  });
  await custom(
    toolThat(async () => {
      while (beats < 3) await sleep(20);
      return '';
    }),
    { environment },
  );
  expect(beats).toBeGreaterThanOrEqual(3);
});

test.each([undefined, null, 7, ['a'], { output: 5, success: true }, { output: 'a' }, {}])(
  'a tool that gives back %j is told to have said nothing, and what it did counts as done',
  async (result) => {
    const odd = defineTool({
      name: 'odd',
      description: 'Odd.',
      effects: 'some',
      parameters: z.strictObject({}),
      run: async () => result as never,
    });
    const answer = await call({ name: 'odd', deps: { tools: [odd] } });
    expect(answer.success).toBe(false);
    expect(JSON.parse(answer.output).error).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('in place of a text or {output, success}'),
    });
  },
);

test('whatever a tool throws is told, and a time limit that is none is the usual one', async () => {
  const throwing = defineTool({
    name: 'throwing',
    description: 'Throws.',
    effects: 'some',
    parameters: z.strictObject({}),
    timeoutMs: () => Number.NaN,
    run: () => {
      throw 'a text';
    },
  });
  expect(throwing.timeoutMs({})).toBe(120_000);
  const { output } = await call({ name: 'throwing', deps: { tools: [throwing] } });
  expect(output).toContain('throwing failed: a text');
});

test('an approval that another copy of Cadre asks for is one', () => {
  const foreign = Object.assign(new Error('x'), { [Symbol.for('cadre.ApprovalNeeded')]: true });
  expect(foreign instanceof ApprovalNeeded).toBe(true);
  expect(new Error('x') instanceof ApprovalNeeded).toBe(false);
});

test('what a killed worker has left of a patch is taken back before a tool looks at it', async () => {
  const path = join(folder, 'a.txt');
  const identity = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return identityOf(lstatSync(join(folder, name)));
  };
  const file = {
    path,
    mark: 'ab',
    before: identity('.cadre-ab.old', 'old'),
    fresh: identity('a.txt', 'new'),
  };
  const [table, , start] = (await ownName()).split('-');
  const patches = join(folder, 'state/patches');
  mkdirSync(patches, { recursive: true });
  // No process has so large an id.
  const name = `1.${table}-999999999-${start}.json`;
  writeFileSync(join(patches, name), JSON.stringify({ phase: 'placing', files: [file], folders: [] }));
  expect((await call({ name: 'read_file', args: { path: 'a.txt' } })).output).toContain('old');
  expect(existsSync(join(folder, '.cadre-ab.old'))).toBe(false);
});
