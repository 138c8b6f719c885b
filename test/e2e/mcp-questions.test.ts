import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ElicitResult } from '@modelcontextprotocol/client';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { McpConnection, ToolResult } from '../support/mcp-client.ts';
import { mcpConnections } from '../support/mcp-connections.ts';
import { RawMcpClient } from '../support/raw-mcp-client.ts';
import { CadreHome } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

const home = new CadreHome();
const connect = mcpConnections(home);
afterAll(() => home.remove());

const asking = { task: 'asks', approval_policy: 'untrusted' };
const elicitation = { capabilities: { elicitation: {} } };

const LINGER_MS = 8_000;

interface Asked {
  call: Promise<ToolResult>;
  id: string;
  told: string[];
}

/** Starts a session with the call that is to ask the person, and waits until it does. */
type Ask = (mcp: McpConnection, more?: Record<string, unknown>) => Promise<Asked>;

function questionsOf(mcp: McpConnection) {
  const seen = { open: [] as string[], takenBack: 0 };
  mcp.client.setRequestHandler('elicitation/create', ({ params }, { mcpReq: { signal } }) => {
    seen.open.push(params.message);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        seen.takenBack++;
        reject(new Error('taken back'));
      });
    });
  });
  return seen;
}

const run: Ask = async (mcp, more = {}) => {
  const told: string[] = [];
  const onprogress = (message: string) => told.push(message);
  const call = mcp.call('cadre_run', { ...asking, ...more }, { onprogress });
  const started = () => told.join('\n').match(/session (a\w+) started/)?.[1];
  await vi.waitFor(() => expect(started()).toBeDefined(), 60_000);
  return { call, id: started() ?? '', told };
};

const wait: Ask = async (mcp, more = {}) => {
  const told: string[] = [];
  const { id } = await mcp.call('cadre_run', { ...asking, detach: true });
  const onprogress = (message: string) => told.push(message);
  return { call: mcp.call('cadre_wait', { ids: [id], ...more }, { onprogress }), id, told };
};

describe.each([
  ['cadre_run', run],
  ['cadre_wait', wait],
])('while the question of %s to a client of before 2026-07-28 is open', (name, ask) => {
  const outcome = (id: string, fields: Record<string, unknown>) =>
    name === 'cadre_run' ? fields.output : (fields.status as Record<string, unknown>)[id];

  test('progress goes on, and an answer from elsewhere ends it', async () => {
    const mcp = await connect({ client: elicitation });
    const questions = questionsOf(mcp);
    const { call, id, told } = await ask(mcp);
    await vi.waitFor(() => expect(questions.open).toHaveLength(1), 60_000);
    const before = told.length;
    const news = () => told.slice(before).join('\n');
    await vi.waitFor(() => expect(news()).toMatch(/^\d+m?( \d+)?s: a\w+ \(default\): /m), 60_000);
    expect((await home.run(['approve', `${id}#p1`])).code).toBe(0);
    const { fields } = await call;
    expect(JSON.stringify(outcome(id, fields))).toContain('made');
    expect(questions).toMatchObject({ open: { length: 1 }, takenBack: 1 });
  });

  test('the end of the session ends it', async () => {
    const mcp = await connect({ client: elicitation });
    const questions = questionsOf(mcp);
    const { call, id } = await ask(mcp);
    await vi.waitFor(() => expect(questions.open).toHaveLength(1), 60_000);
    expect((await home.run(['close', id])).code).toBe(0);
    const { fields } = await call;
    expect(JSON.stringify(fields.status)).toContain('shutdown');
    expect(questions.takenBack).toBe(1);
  });

  test('the end of its time ends it, and the answer says what waits', async () => {
    const mcp = await connect({ client: elicitation });
    const questions = questionsOf(mcp);
    const { call, id } = await ask(mcp, { timeout_seconds: 30 });
    const { fields, isError } = await call;
    expect(isError).toBe(false);
    expect(fields).toMatchObject({ approvals: [{ approval_id: `${id}#p1` }] });
    expect(questions).toMatchObject({ open: { length: 1 }, takenBack: 1 });
    await mcp.call('cadre_close', { id });
  });

  test('a client that cannot ask after all gets it as one that never could', async () => {
    const mcp = await connect({ client: elicitation });
    mcp.client.setRequestHandler('elicitation/create', async () => {
      throw new Error('no ui');
    });
    const { call, id } = await ask(mcp);
    const { fields, isError, texts } = await call;
    expect(isError).toBe(false);
    expect(fields).toMatchObject({ approvals: [{ approval_id: `${id}#p1` }] });
    expect(texts.join('\n')).not.toContain('no ui');
    const { fields: denied } = await mcp.call('cadre_deny', { approval_id: `${id}#p1` });
    expect(denied).toMatchObject({ decision: 'deny' });
  });
});

test.each([
  ['approve', 2],
  ['approve_for_session', 1],
])('of two agents that ask the same, "%s" takes %i questions', async (decision, count) => {
  const mcp = await connect({ client: elicitation });
  const questions: string[] = [];
  mcp.client.setRequestHandler('elicitation/create', async ({ params }) => {
    questions.push(params.message);
    return { action: 'accept', content: { decision } };
  });
  const { fields } = await mcp.call('cadre_run', { ...asking, task: 'two ask' });
  expect(fields).toMatchObject({ status: 'completed', output: expect.stringMatching(/made.*made/s) });
  expect(questions).toHaveLength(count);
});

test('a call that is cancelled takes its question with it', async () => {
  const mcp = await connect({ client: elicitation });
  const questions = questionsOf(mcp);
  const { id } = await mcp.call('cadre_run', { ...asking, detach: true });
  const cancel = new AbortController();
  const call = mcp.call('cadre_wait', { ids: [id] }, { signal: cancel.signal });
  await vi.waitFor(() => expect(questions.open).toHaveLength(1), 60_000);
  cancel.abort();
  await expect(call).rejects.toThrow();
  await vi.waitFor(() => expect(questions.takenBack).toBe(1), 60_000);
  await mcp.call('cadre_close', { id });
});

describe('by hand', () => {
  test.each([
    'yes',
    {},
    { action: 'maybe' },
    { action: 'accept' },
    { action: 'accept', content: { decision: 'perhaps' } },
  ])('an answer that decides nothing leaves it open: %j', async (result) => {
    const raw = new RawMcpClient(home);
    raw.initialize({ elicitation: {} });
    raw.call(1, 'cadre_run', asking);
    const { id } = await raw.asked('elicitation/create');
    raw.send({ id, result });
    const answer = await raw.answerTo(1);
    expect(answer.result).not.toHaveProperty('isError');
    expect(answer.result).toMatchObject({
      structuredContent: { session_id: expect.any(String), approvals: { length: 1 } },
    });
    expect(await raw.end()).toBe(0);
  });

  test('an answer that comes too late changes nothing', async () => {
    const raw = new RawMcpClient(home);
    raw.initialize({ elicitation: {} });
    raw.call(1, 'cadre_run', { ...asking, timeout_seconds: 30 });
    const { id } = await raw.asked('elicitation/create');
    const { result } = await raw.answerTo(1);
    expect((await raw.asked('notifications/cancelled')).params).toMatchObject({ requestId: id });
    raw.send({ id, result: { action: 'accept', content: { decision: 'approve' } } });
    const { session_id: session } = { ...(result?.structuredContent as object) } as { session_id: string };
    raw.call(2, 'cadre_approvals', { id: session });
    expect((await raw.answerTo(2)).result).toMatchObject({
      structuredContent: { approvals: [{ approval_id: `${session}#p1` }] },
    });
    raw.call(3, 'cadre_close', { id: session });
    await raw.answerTo(3);
    expect(await raw.end()).toBe(0);
  });
});

test('what a client of 2026-07-28 says of a session that has ended meanwhile gets the end of that', async () => {
  const cwd = home.newFolder('late');
  const modern = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
  const mcp = await connect({ cwd, client: { ...elicitation, ...modern } });
  let answer = (_result: ElicitResult): void => {};
  let asked = false;
  mcp.client.setRequestHandler('elicitation/create', () => {
    asked = true;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const { call, id, told } = await run(mcp, { timeout_seconds: 30 });
  await vi.waitFor(() => expect(asked).toBe(true), 60_000);
  expect((await home.run(['approve', `${id}#p1`])).code).toBe(0);
  expect((await home.run(['wait', id])).code).toBe(0);
  // Who has worked for it lingers for some seconds.
  await sleep(LINGER_MS);
  const before = told.length;
  answer({ action: 'decline' });
  const { fields } = await call;
  expect(told.slice(before)).toEqual([]);
  expect(fields).toMatchObject({ status: 'completed', output: expect.stringContaining('made') });
  expect(existsSync(join(cwd, 'made'))).toBe(true);
});
