import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientOptions, ElicitResult } from '@modelcontextprotocol/client';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { mcpConnections } from '../support/mcp-connections.ts';
import { CadreHome, playing } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const home = new CadreHome();
const connect = mcpConnections(home);
afterAll(() => home.remove());

test('a run tells what happens in the tree, with names and roles, and answers with fields and with text', async () => {
  const mcp = await connect({ args: playing('tree.yaml') });
  const told: string[] = [];
  const { fields, texts, isError, id } = await mcp.call(
    'cadre_run',
    { task: 'the tree' },
    { onprogress: (message) => told.push(message) },
  );
  const answer = 'report of child one; report of child two; report of child three';
  expect(isError).toBe(false);
  expect(fields).toMatchObject({ status: 'completed', output: answer });
  expect(fields).toHaveProperty('usage.total_tokens');
  expect(fields).toMatchObject({
    agents: [
      { role: 'default', status: 'completed' },
      ...[1, 2, 3].map(() => ({ role: 'default', status: 'shutdown' })),
    ],
  });
  expect(texts[0]).toBe(answer);
  expect(JSON.parse(texts[1] ?? '')).toEqual(fields);
  expect(told).toContainEqual(expect.stringMatching(/^a\w+ \(default\): started default-\d: child one$/));
  expect(told).toContainEqual(expect.stringMatching(/^default-\d \(default\): shell · echo "child one"/));

  const listed = await mcp.call('cadre_list', { all: true, session_id: id, role: 'default' });
  expect(listed.fields).toMatchObject({ agents: { length: 4 } });
  expect(listed.texts[0]).toContain('"source":{"kind":"mcp"}');
});

test('a run that ends badly is an error of the tool, with the fields and the reason', async () => {
  const mcp = await connect();
  const { isError, fields } = await mcp.call('cadre_run', { task: 'nobody plays this' });
  expect(isError).toBe(true);
  expect(fields).toMatchObject({
    status: 'errored',
    error: { code: 'script_failed', hint: expect.any(String) },
  });
});

test('tools say what they take, what they answer, and what they change', async () => {
  const mcp = await connect();
  const { tools } = await mcp.client.listTools();
  const names = [
    'run',
    'status',
    'send',
    'wait',
    'interrupt',
    'close',
    'list',
    'approvals',
    'approve',
    'deny',
  ];
  expect(tools.map(({ name }) => name)).toEqual(names.map((name) => `cadre_${name}`));
  for (const tool of tools) {
    expect(tool).toMatchObject({
      title: expect.any(String),
      description: expect.any(String),
      inputSchema: { type: 'object', additionalProperties: false },
      outputSchema: { type: 'object' },
    });
  }
  const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true);
  expect(reading.map(({ name }) => name)).toEqual(['cadre_status', 'cadre_list', 'cadre_approvals']);
  const run = tools.find(({ name }) => name === 'cadre_run');
  expect(run?.inputSchema.properties).toMatchObject({
    tools: { properties: { subagent_tools: { type: 'boolean' } } },
    sandbox_mode: { enum: ['read-only', 'workspace-write', 'danger-full-access'] },
  });
});

test('tools.subagent_tools switches the tools for sub-agents off for a session', async () => {
  const mcp = await connect();
  const withThem = await mcp.call('cadre_run', { task: 'delegate' });
  expect(withThem.texts[0]).toContain('agent_id');
  const without = await mcp.call('cadre_run', { task: 'delegate', tools: { subagent_tools: false } });
  expect(without.fields).toMatchObject({ status: 'completed', agents: { length: 1 } });
  expect(without.texts[0]).toMatch(/unknown_tool|tool_not_allowed/);
});

test('what is wrong is answered as an error with code and hint, and the server goes on', async () => {
  const mcp = await connect();
  const { id: closed } = await mcp.call('cadre_run', { task: 'quick' });
  const wrong: [string, Record<string, unknown>, string][] = [
    ['cadre_run', {}, 'invalid_arguments'],
    ['cadre_run', { task: 3 }, 'invalid_arguments'],
    ['cadre_run', { task: 'quick', sandbox: 'read-only' }, 'invalid_arguments'],
    ['cadre_run', { task: '  ' }, 'usage'],
    ['cadre_run', { task: 'x'.repeat(12_000_000) }, 'usage'],
    ['cadre_run', { task: 'quick', cwd: '/no/such/folder' }, 'usage'],
    ['cadre_run', { task: 'quick', agent: 'nobody' }, 'unknown_role'],
    ['cadre_run', { task: 'quick', images: ['nothing.png'] }, 'usage'],
    ['cadre_run', { task: 'quick', output_schema: { type: 'bogus' } }, 'usage'],
    ['cadre_status', { id: 'a0000000000zz' }, 'agent_not_found'],
    ['cadre_status', { id: '../../etc/passwd' }, 'agent_not_found'],
    ['cadre_send', { id: closed, message: 'more' }, 'agent_closed'],
    ['cadre_send', { id: closed, message: '' }, 'usage'],
    ['cadre_wait', { ids: [] }, 'invalid_arguments'],
    ['cadre_wait', { ids: ['a0000000000zz'] }, 'agent_not_found'],
    ['cadre_wait', { ids: ['a0000000000zz', 'nonsense'], all: true }, 'agent_not_found'],
    ['cadre_wait', { ids: [closed], timeout_seconds: -1 }, 'invalid_arguments'],
    ['cadre_approve', { approval_id: `${closed}#p1` }, 'approval_not_found'],
    ['cadre_deny', { approval_id: 'nonsense' }, 'approval_not_found'],
  ];
  for (const [name, args, code] of wrong) {
    const error = await mcp.error(name, args);
    expect(error, `${name} ${JSON.stringify(args).slice(0, 100)}`).toMatchObject({
      code,
      message: expect.any(String),
      hint: expect.stringMatching(/./),
      retryable: false,
    });
    expect(error.hint).not.toMatch(/cadre (?:run|status|send|wait|attach|interrupt|close|ps|approv|deny)|--/);
  }
  expect(await mcp.error('cadre_status', { id: 'a0000000000zz' })).toMatchObject({
    hint: expect.stringContaining('cadre_list with all: true'),
  });
  await expect(mcp.call('cadre_fly')).rejects.toThrow(/cadre_fly not found/);
  const waited = await mcp.call('cadre_wait', { ids: [closed, 'a0000000000zz'], all: true });
  expect(waited.fields).toEqual({
    status: { [closed]: { completed: 'the quick answer' }, a0000000000zz: 'not_found' },
    timed_out: false,
  });
  expect((await mcp.call('cadre_close', { id: closed })).fields).toMatchObject({ closed: [] });
});

test('sessions that are detached run side by side, take input, are waited for, stopped and closed', async () => {
  const mcp = await connect();
  const start = async (task: string): Promise<string> => {
    const { fields, id } = await mcp.call('cadre_run', { task, detach: true });
    expect(fields).toMatchObject({ status: 'running', next: expect.stringContaining('cadre_wait') });
    return id;
  };
  const slow = await start('slow');
  const endless = await start('endless');
  const first = await mcp.call('cadre_wait', { ids: [endless, slow] });
  expect(first.fields).toEqual({ status: { [slow]: { completed: 'slept' } }, timed_out: false });
  const late = await mcp.call('cadre_wait', { ids: [endless], timeout_seconds: 1 });
  expect(late.fields).toEqual({ status: {}, timed_out: true });
  expect((await mcp.call('cadre_status', { id: endless })).fields).toMatchObject({
    status: 'running',
    waiting_for: 'model',
    source: { kind: 'mcp' },
  });
  expect((await mcp.call('cadre_interrupt', { id: endless })).fields).toMatchObject({
    status: 'interrupted',
  });
  const sent = await mcp.call('cadre_send', { id: endless, message: 'wake up' });
  expect(sent.fields).toEqual({ submission_id: expect.any(String) });
  const woken = await mcp.call('cadre_wait', { ids: [endless] });
  expect(woken.fields).toMatchObject({ status: { [endless]: { completed: 'heard wake up' } } });

  const another = await start('endless');
  expect((await mcp.call('cadre_close', { id: another })).fields).toMatchObject({ closed: [another] });
});

test('a run that is interrupted meanwhile returns, and one whose time is up says how to wait for it again', async () => {
  const mcp = await connect();
  const late = await mcp.call('cadre_run', { task: 'endless', timeout_seconds: 8 });
  expect(late.fields).toMatchObject({ status: 'running', next: expect.stringContaining('cadre_wait') });
  await mcp.call('cadre_close', { id: late.id });

  let id = '';
  const onprogress = (message: string): void => {
    id ||= message.match(/^(a\w+) \(default\): started/)?.[1] ?? '';
  };
  const running = mcp.call('cadre_run', { task: 'endless' }, { onprogress });
  await vi.waitFor(() => expect(id).not.toBe(''), 60_000);
  await mcp.call('cadre_interrupt', { id });
  expect((await running).fields).toMatchObject({ status: 'interrupted', session_id: id });
  await mcp.call('cadre_close', { id });
});

test('a call that is cancelled leaves the session running', async () => {
  const mcp = await connect();
  const cancel = new AbortController();
  let id = '';
  const onprogress = (message: string): void => {
    id ||= message.match(/session (\w+) started/)?.[1] ?? '';
    if (message.includes('shell')) cancel.abort();
  };
  const running = mcp.call('cadre_run', { task: 'slow' }, { onprogress, signal: cancel.signal });
  await expect(running).rejects.toThrow();
  const waited = await mcp.call('cadre_wait', { ids: [id] });
  expect(waited.fields).toMatchObject({ status: { [id]: { completed: 'slept' } } });
});

describe('approvals', () => {
  const asking = { task: 'asks', approval_policy: 'untrusted' };

  test('a client that cannot ask a person gets the question back, decides, and waits on', async () => {
    const mcp = await connect();
    const told: string[] = [];
    const { fields, id } = await mcp.call('cadre_run', asking, {
      onprogress: (message) => told.push(message),
    });
    expect(fields).toMatchObject({
      status: 'running',
      approvals: [{ approval_id: `${id}#p1`, asking_id: id, tool: 'shell' }],
      next: expect.stringContaining('cadre_approve'),
    });
    expect(told).toContainEqual(expect.stringMatching(/waits for an approval: .*touch made/));
    const again = await mcp.call('cadre_wait', { ids: [id] });
    expect(again.fields).toMatchObject({ status: {}, approvals: [{ approval_id: `${id}#p1` }] });
    const all = await mcp.call('cadre_approvals');
    expect(all.fields).toMatchObject({ approvals: [{ approval_id: `${id}#p1` }] });
    const decided = await mcp.call('cadre_approve', { approval_id: `${id}#p1` });
    expect(decided.fields).toMatchObject({ decision: 'approve', scope: 'once' });
    const waited = await mcp.call('cadre_wait', { ids: [id] });
    expect(waited.fields).toMatchObject({ status: { [id]: { completed: expect.stringContaining('made') } } });
  });

  test('with on_approval "wait" a run waits until somebody else decides', async () => {
    const mcp = await connect();
    let deny: Promise<unknown> | undefined;
    const onprogress = (message: string): void => {
      const request = message.match(/\((a\w+#p\d+)\)/)?.[1];
      if (request !== undefined) {
        deny ??= mcp.call('cadre_deny', { approval_id: request, reason: 'not today' });
      }
    };
    const { fields } = await mcp.call('cadre_run', { ...asking, on_approval: 'wait' }, { onprogress });
    expect(fields).toMatchObject({ status: 'completed', output: expect.stringContaining('not today') });
    await deny;
  });

  const eras: [string, ClientOptions][] = [
    ['of before 2026-07-28', {}],
    ['of 2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ];
  describe.each(eras)('a client %s that can ask a person', (_era, options) => {
    test.each([
      [{ action: 'accept', content: { decision: 'approve' } }, 'made'],
      [{ action: 'decline' }, 'denied'],
    ] as const)('is asked in the middle of the run: %o', async (answer, said) => {
      const cwd = home.newFolder('asked');
      const mcp = await connect({ cwd, client: { capabilities: { elicitation: {} }, ...options } });
      const questions: string[] = [];
      mcp.client.setRequestHandler('elicitation/create', async ({ params }) => {
        questions.push(params.message);
        return answer;
      });
      const { fields } = await mcp.call('cadre_run', asking);
      expect(questions).toEqual([expect.stringMatching(/^a\w+ \(default, shell\) asks to: .*touch made/)]);
      expect(fields).toMatchObject({ status: 'completed', output: expect.stringContaining(said) });
      expect(existsSync(join(cwd, 'made'))).toBe(said === 'made');
    });

    test('is asked in the middle of a wait, too, and once where the question is turned away', async () => {
      const cwd = home.newFolder('asked-in-wait');
      const mcp = await connect({ cwd, client: { capabilities: { elicitation: {} }, ...options } });
      const questions: string[] = [];
      let answer: ElicitResult = { action: 'cancel' };
      mcp.client.setRequestHandler('elicitation/create', async ({ params }) => {
        questions.push(params.message);
        return answer;
      });
      const { id } = await mcp.call('cadre_run', { ...asking, detach: true });
      const left = await mcp.call('cadre_wait', { ids: [id] });
      expect(left.fields).toMatchObject({ status: {}, approvals: [{ approval_id: `${id}#p1` }] });
      expect(questions).toEqual([expect.stringMatching(/^a\w+ \(default, shell\) asks to: .*touch made/)]);
      answer = { action: 'accept', content: { decision: 'approve' } };
      const { fields } = await mcp.call('cadre_wait', { ids: [id], on_approval: 'wait' });
      expect(fields).toMatchObject({ status: { [id]: { completed: expect.stringContaining('made') } } });
      expect(questions).toHaveLength(2);
      expect(existsSync(join(cwd, 'made'))).toBe(true);
    });

    test('gets the question back where the person turns it away', async () => {
      const mcp = await connect({ client: { capabilities: { elicitation: {} }, ...options } });
      mcp.client.setRequestHandler('elicitation/create', async () => ({ action: 'cancel' }));
      const { fields, id } = await mcp.call('cadre_run', asking);
      expect(fields).toMatchObject({ status: 'running', approvals: { length: 1 } });
      await mcp.call('cadre_close', { id });
    });
  });
});

test('two servers work side by side, each for its own sessions, and see those of the other', async () => {
  const [one, two] = await Promise.all([connect(), connect()]);
  const runs = await Promise.all([one, two].map((mcp) => mcp.call('cadre_run', { task: 'slow' })));
  expect(runs.map(({ fields }) => fields)).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  const { fields } = await one.call('cadre_status', { id: runs[1]?.id });
  expect(fields).toMatchObject({ status: 'completed', closed: true });
});
