import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterEach, expect, test, vi } from 'vitest';
import { createActivities } from '../../../activities/index.ts';
import { McpPool } from '../../../activities/mcp/pool.ts';
import type {
  AgentContext,
  McpServers,
  ModelAnswer,
  PlannedCall,
  ToolAnswer,
} from '../../../protocol/index.ts';
import { Rollouts } from '../../../rollout/rollouts.ts';
import { startModelServer } from '../../support/model-server.ts';
import { pointerTo } from '../model/conversations.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';
import { small } from './servers.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0)) await one();
});

interface Setup {
  brought?: McpServers;
  own?: McpServers;
  settings?: Partial<AgentContext['settings']>;
}

/** A worker whose sessions bring some servers, and which may have its own. */
async function worker({ brought = {}, own, settings = {} }: Setup) {
  const folder = mkdtempSync(join(tmpdir(), 'cadre-mcp-'));
  const model = await startModelServer(() => ({ text: 'ok' }), { models: ['m'] });
  const mcp = new McpPool({ servers: own, environment: { PATH: process.env.PATH } });
  undo.push(
    () => mcp.close(),
    () => model.close(),
    () => rmSync(folder, { recursive: true }),
  );
  const agent = agentIn({ working_directory: folder, provider: 'local', ...settings });
  const session = sessionWith({
    mcp_servers: brought,
    model_providers: { local: { base_url: model.url } },
    non_interactive: false,
  });
  const activities = createActivities({
    client: {} as Client,
    readSession: async () => session,
    readAgentSettings: async () => agent.settings,
    environment: { PATH: process.env.PATH },
    stateDir: folder,
    rollouts: new Rollouts({ stateDir: folder }),
    writesRollouts: false,
    tools: [],
    mcp,
  });
  const environment = (activityType: string) =>
    new MockActivityEnvironment({ activityType, attempt: 1 }, { logger: new DefaultLogger('ERROR') });
  const call = (name: string, args: object) =>
    ({ type: 'tool_call', call_id: 'c1', name, arguments: JSON.stringify(args) }) as const;
  return {
    model,
    plan: (name: string, args: object = {}): Promise<PlannedCall> =>
      environment('plan_call').run(activities.plan_call, { agent, call: call(name, args) }),
    run: (name: string, args: object = {}, more: object = {}): Promise<ToolAnswer> =>
      environment(name).run(activities.default, { agent, call: call(name, args), ...more }),
    async ask() {
      const request = { agent, pointer: pointerTo([]), fresh: [], final: false };
      const answer: ModelAnswer = await environment('model').run(activities.model, request);
      return { answer, tools: model.requests.at(-1)?.tools ?? [], body: model.requests.at(-1)?.body };
    },
  };
}

const mcpOf = (tools: readonly string[]) => tools.filter((name) => name.startsWith('mcp__'));

test('a model is offered what servers have, with their schemas; the answer of its call holds none of them', async () => {
  const { ask } = await worker({ brought: { a: small('good') } });
  const { answer, tools, body } = await ask();
  expect(mcpOf(tools)).toHaveLength(13);
  expect(body?.tools).toContainEqual(
    expect.objectContaining({
      name: 'mcp__a__echo',
      parameters: { type: 'object', properties: { say: { type: 'string' } } },
    }),
  );
  expect(JSON.stringify(answer)).not.toContain('properties');
});

test.each([
  [{ allow: [['mcp__a__*']], deny: [] }, ['mcp__a__echo', 'mcp__a__sleep']],
  [{ allow: [['mcp__*']], deny: ['mcp__b__*', '*sleep'] }, ['mcp__a__echo']],
  [{ allow: [['read_file']], deny: [] }, []],
  [{ allow: [], deny: [], read_only: true as const }, ['mcp__b__echo']],
])('a role may have those that its policy leaves: %j', async (policy, names) => {
  const settings = { tool_policy: policy };
  const { ask, plan } = await worker({
    brought: {
      a: small('good', { tools_allow: ['echo', 'sleep'] }),
      b: small('good', { tools_allow: ['echo', 'sleep'], tools_read_only: ['echo'] }),
    },
    settings,
  });
  expect(mcpOf((await ask()).tools)).toEqual(names);
  for (const name of ['mcp__a__echo', 'mcp__a__sleep', 'mcp__b__echo', 'mcp__b__sleep']) {
    const error = { kind: 'refused', error: { code: 'tool_not_allowed' } };
    expect(await plan(name)).toMatchObject(names.includes(name) ? { kind: 'activity', name } : error);
  }
});

test('of more tools than a call may offer the largest servers leave some out, and people are told', async () => {
  const { ask, plan } = await worker({
    brought: { many: small('many'), few: small('good') },
  });
  const { answer, tools } = await ask();
  expect(tools).toHaveLength(128);
  expect(mcpOf(tools).filter((name) => name.startsWith('mcp__few'))).toHaveLength(13);
  expect(answer.warnings).toEqual([expect.stringContaining('are not offered. Choose with tools_allow')]);
  expect(await plan('mcp__many__tool_199')).toMatchObject({ error: { code: 'tool_not_allowed' } });
  expect((await ask()).answer.warnings).toBeUndefined();
});

test('what a server did wrong comes along with the answer, once', async () => {
  const { ask } = await worker({ brought: { bad: small('noisy-death'), good: small('good') } });
  const { answer, tools } = await ask();
  expect(answer.warnings).toEqual([expect.stringMatching(/^MCP server bad: .*exit code 3/)]);
  expect(mcpOf(tools)).toHaveLength(13);
});

test('a call says what it is about and runs as the activity of its tool', async () => {
  const { plan, run } = await worker({
    brought: { a: small('good', { timeout_ms: 5_000, start_timeout_ms: 40_000 }) },
  });
  expect(await plan('mcp__a__echo', { say: 'hello', times: 2 })).toEqual({
    kind: 'activity',
    call_id: 'c1',
    name: 'mcp__a__echo',
    effects: 'some',
    timeout_ms: 75_000,
    summary: 'say: hello, times: 2',
  });
  expect(await run('mcp__a__echo', { say: 'hello' })).toEqual({ output: 'hello', success: true });
  await expect(run('no_such_activity')).rejects.toMatchObject({ type: 'NotFoundError', nonRetryable: false });
});

test('a long answer is cut, and the whole is stored', async () => {
  const { run } = await worker({ brought: { a: small('good') } });
  const answer = await run('mcp__a__long');
  expect(answer.handle).toMatch(/^h_/);
  expect(answer.output.length).toBeLessThan(50_000);
});

test('the workflow is told to ask a person; nobody is asked under never', async () => {
  const brought = { a: small('good', { tools_approved: [] }) };
  const asking = await worker({ brought });
  expect(await asking.run('mcp__a__echo', { say: 'x' })).toMatchObject({
    needs_approval: { kind: 'mcp', summary: 'a: echo {"say":"x"}', key: 'mcp__a__echo ["a","echo"]' },
  });
  expect(await asking.run('mcp__a__echo', { say: 'x' }, { approved: true })).toMatchObject({ output: 'x' });
  const never = await worker({ brought, settings: { approval_policy: 'never' } });
  const refused = await never.run('mcp__a__echo', { say: 'x' });
  expect(JSON.parse(refused.output)).toMatchObject({
    error: { code: 'approval_denied', hint: expect.stringContaining('tools_approved = ["echo"]') },
  });
});

test('a worker with servers of its own starts none that a session brings', async () => {
  const { ask, run } = await worker({ own: { mine: small('good') }, brought: { theirs: small('good') } });
  const { tools } = await ask();
  expect(mcpOf(tools).every((name) => name.startsWith('mcp__mine__'))).toBe(true);
  expect(JSON.parse((await run('mcp__theirs__echo')).output)).toMatchObject({
    error: { code: 'unknown_tool' },
  });
  const none = await worker({ own: {}, brought: { theirs: small('good') } });
  expect(mcpOf((await none.ask()).tools)).toEqual([]);
});

test('a call of a tool whose server does not start here has called nothing', async () => {
  const { run } = await worker({ brought: { bad: small('noisy-death') } });
  expect(JSON.parse((await run('mcp__bad__echo')).output)).toMatchObject({
    error: { code: 'tool_failed', message: expect.stringMatching(/^Nothing was called: .*exit code 3/) },
  });
});
