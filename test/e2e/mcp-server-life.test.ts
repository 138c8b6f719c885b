import { afterAll, expect, test, vi } from 'vitest';
import { mcpConnections } from '../support/mcp-connections.ts';
import { RawMcpClient } from '../support/raw-mcp-client.ts';
import { CadreHome, playing } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const home = new CadreHome();
const connect = mcpConnections(home);
afterAll(() => home.remove());

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('when the client goes, in the middle of a run too, the server ends, and workers in the background go on', async () => {
  const cwd = home.newFolder('left');
  const mcp = await connect({ cwd });
  const { pid } = mcp;
  const detached = await mcp.call('cadre_run', { task: 'slow', detach: true });
  let id = '';
  const onprogress = (message: string): void => {
    id ||= message.match(/^(a\w+) \(default\): shell/)?.[1] ?? '';
  };
  mcp.call('cadre_run', { task: 'slow too' }, { onprogress }).catch(() => {});
  await vi.waitFor(() => expect(id).not.toBe(''), 60_000);
  await mcp.close();
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 10_000);
  // `wait` would work for them itself: what finishes them while nobody waits is the workers that were left.
  await vi.waitFor(async () => {
    const { agents } = await home.json<{ agents: { agent_id: string; closed: boolean; status: string }[] }>([
      'ps',
      '--all',
    ]);
    for (const each of [detached.id, id]) {
      expect(agents.find((agent) => agent.agent_id === each)).toMatchObject({
        closed: true,
        status: 'completed',
      });
    }
  }, 60_000);
});

test('a server that was told to stop leaves its sessions in the same way', async () => {
  const mcp = await connect();
  const { pid } = mcp;
  const { id } = await mcp.call('cadre_run', { task: 'slow', detach: true });
  process.kill(pid, 'SIGTERM');
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 30_000);
  expect(mcp.stderr).toContain(`A worker in the background goes on with ${id}.`);
});

test('after kill -9 another server takes the session up where it was', async () => {
  const mcp = await connect();
  const { id } = await mcp.call('cadre_run', { task: 'endless', detach: true });
  process.kill(mcp.pid, 'SIGKILL');
  await vi.waitFor(() => expect(isAlive(mcp.pid)).toBe(false), 10_000);
  const next = await connect();
  const { fields } = await next.call('cadre_send', { id, message: 'anybody?', interrupt: true });
  expect(fields).toHaveProperty('submission_id');
  const waited = await next.call('cadre_wait', { ids: [id] });
  expect(waited.fields).toMatchObject({ status: { [id]: { completed: 'heard anybody?' } } });
  await next.call('cadre_close', { id });
});

test('where no server is at the address every tool says so, and the process lives', async () => {
  const mcp = await connect({ args: [...playing('mcp.yaml'), '--address', '127.0.0.1:1'] });
  for (const [name, args] of [
    ['cadre_run', { task: 'quick' }],
    ['cadre_list', {}],
    ['cadre_wait', { ids: ['a0000000000zz'] }],
  ] as const) {
    expect(await mcp.error(name, args)).toMatchObject({
      code: 'temporal_unreachable',
      message: expect.stringContaining('127.0.0.1:1'),
      hint: expect.stringMatching(/./),
      retryable: true,
    });
  }
  expect((await mcp.client.listTools()).tools).toHaveLength(10);
});

test('a configuration that is wrong is the answer of each call, until it is mended', async () => {
  const mcp = await connect({ args: ['-c', 'agents.max_dept=3'] });
  expect(await mcp.error('cadre_run', { task: 'quick' })).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('max_depth'),
  });
});

test('with --queue a session is that of its workers, and the server only asks', async () => {
  const worker = home.start(['worker', '--queue', 'crew']);
  await worker.says(/Working for the queue crew/);
  try {
    const mcp = await connect({ args: [...playing('mcp.yaml'), '--queue', 'crew'] });
    const { fields, id } = await mcp.call('cadre_run', { task: 'quick' });
    expect(fields).toMatchObject({ status: 'completed', output: 'the quick answer' });
    const { fields: status } = await mcp.call('cadre_status', { id });
    expect(status).toMatchObject({ source: { kind: 'mcp' } });
  } finally {
    worker.child.kill('SIGTERM');
    await worker.ended;
  }
});

test('run and wait answer after --timeout at the latest', async () => {
  const mcp = await connect({ args: [...playing('mcp.yaml'), '--timeout', '2'] });
  const { fields, id } = await mcp.call('cadre_run', { task: 'endless' });
  expect(fields).toMatchObject({ status: 'running' });
  expect((await mcp.call('cadre_wait', { ids: [id] })).fields).toEqual({ status: {}, timed_out: true });
  await mcp.call('cadre_close', { id });
});

test('what is no JSON, no request, or a tool that is not there ends nothing; only the protocol goes to stdout', async () => {
  const raw = new RawMcpClient(home);
  raw.write('this is no JSON\n{"jsonrpc": "2.0", "id": 1\n[]\n\n3\n{"jsonrpc":"2.0","id":9,"method":3}\n');
  await vi.waitFor(() => expect(raw.messages).toHaveLength(5), 60_000);
  expect(raw.messages.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32_700],
    [null, -32_700],
    [null, -32_600],
    [null, -32_600],
    [9, -32_600],
  ]);
  raw.initialize();
  expect(await raw.answerTo('init')).toMatchObject({ result: { serverInfo: { name: 'cadre' } } });
  raw.write('{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n\u0000\n');
  expect(await raw.answerTo(2)).toMatchObject({ error: { code: expect.any(Number) } });
  raw.send({ id: 3, method: 'tools/call', params: { name: 'cadre_fly', arguments: {} } });
  expect(await raw.answerTo(3)).toMatchObject({ error: { code: -32602 } });
  raw.send({ id: 4, method: 'no/such/method' });
  expect(await raw.answerTo(4)).toMatchObject({ error: { code: -32601 } });
  raw.send({ id: 5, method: 'tools/call', params: { name: 'cadre_run', arguments: { task: 'quick' } } });
  expect(await raw.answerTo(5)).toMatchObject({ result: { structuredContent: { status: 'completed' } } });
  expect(await raw.end()).toBe(0);
});
