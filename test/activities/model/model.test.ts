import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { ConversationCache } from '../../../activities/model/conversation-cache.ts';
import { createModelActivity, type ModelDeps } from '../../../activities/model/model.ts';
import { ModelProviders } from '../../../activities/model/model-providers.ts';
import type { OfferedTool } from '../../../activities/tools/offered-tool.ts';
import {
  type Item,
  type ModelAnswer,
  type ModelRequest,
  type SessionSettings,
  type ToolCall,
  textMessage,
} from '../../../protocol/index.ts';
import {
  type Answer,
  type Answerer,
  type ModelServer,
  startModelServer,
} from '../../support/model-server.ts';
import { agentContext, pointerTo, said, sessionSettings, toolOutput } from './conversations.ts';

const listDir: OfferedTool = {
  name: 'list_dir',
  description: 'Lists a folder.',
  parameters: z.strictObject({ path: z.string().describe('Which'), depth: z.int().positive().default(2) }),
  plan: ({ call_id, arguments: args }) => ({
    kind: 'operation',
    call_id,
    name: 'list_dir',
    arguments: args,
    summary: '',
  }),
};
const task = [textMessage('what is here?')];

let server: ModelServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function setUp(
  answer: Answer | Answerer,
  options: { session?: Record<string, unknown>; windows?: Record<string, number>; read?: Item[] } = {},
) {
  server = await startModelServer(typeof answer === 'function' ? answer : () => answer);
  const session: SessionSettings = sessionSettings({
    model_providers: { local: { base_url: server.url, context_windows: options.windows } },
    ...options.session,
  });
  const planned: ToolCall[] = [];
  const deps: ModelDeps = {
    sessions: { get: async () => session },
    conversations: new ConversationCache(),
    readItems: async (_, from, to) => (options.read ?? []).slice(from, to),
    providers: new ModelProviders({}),
    instructionsFor: async (agent, offered) => `You are ${agent.settings.role} with ${[...offered]}.`,
    offeredTools: () => [listDir],
    searchesWeb: () => false,
    store: async () => ({ handle: 'h_1' }),
    planCall: (_agent, _session, call) => {
      planned.push(call);
      return listDir.plan({ call_id: call.call_id, name: call.name, arguments: call.arguments });
    },
  };
  return { model: createModelActivity(deps), server, planned };
}

/** Expected failures need no lines in the test's output. */
function quietEnvironment(): MockActivityEnvironment {
  return new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') });
}

function run(
  environment: MockActivityEnvironment,
  model: ReturnType<typeof createModelActivity>,
  input: ModelRequest,
): Promise<ModelAnswer> {
  return environment.run(model, input);
}

function request(items: Item[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return { agent: agentContext(), pointer: pointerTo(items), fresh: items, final: false, ...rest };
}

test('a request becomes an answer with a plan for each call', async () => {
  const { model, server, planned } = await setUp({
    text: 'I look',
    calls: [{ name: 'list_dir', id: 'c1', arguments: { path: '.' } }],
    usage: { input: 10, output: 5 },
  });
  const answer = await run(quietEnvironment(), model, request(task));
  expect(answer.items).toEqual([
    said('I look'),
    { type: 'tool_call', call_id: 'c1', name: 'list_dir', arguments: '{"path":"."}' },
  ]);
  expect(answer.calls).toMatchObject([{ kind: 'operation', call_id: 'c1' }]);
  expect(planned).toEqual([answer.items[1]]);
  expect(answer.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 });
  expect(server.requests[0]).toMatchObject({
    instructions: 'You are default with list_dir.',
    tools: ['list_dir'],
  });
});

test('the schema of a tool is that of its input: optional where it has a default', async () => {
  const { model, server } = await setUp({ text: 'ok' });
  await run(quietEnvironment(), model, request(task));
  const tools = server.requests[0]?.body.tools as { parameters: unknown }[] | undefined;
  expect(tools?.[0]?.parameters).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Which' },
      depth: { type: 'integer', exclusiveMinimum: 0, default: 2 },
    },
    required: ['path'],
    additionalProperties: false,
  });
});

test('the next request needs its fresh items only', async () => {
  const { model, server } = await setUp(({ answers }) =>
    answers === 0 ? { calls: [{ name: 'list_dir', id: 'c1', arguments: { path: '.' } }] } : { text: 'done' },
  );
  const environment = quietEnvironment();
  const first = await run(environment, model, request(task));
  const whole = [...task, ...first.items, toolOutput('c1')];
  const answer = await run(environment, model, request(whole, { fresh: [toolOutput('c1')] }));
  expect(answer.items).toEqual([said('done')]);
  expect(server.requests[1]?.items).toHaveLength(3);
});

test('a conversation that this worker does not know is read from its agent', async () => {
  const whole = [...task, said('hello'), textMessage('go on')];
  const { model, server } = await setUp({ text: 'ok' }, { read: whole });
  await run(quietEnvironment(), model, request(whole, { fresh: whole.slice(2) }));
  expect(server.requests[0]?.items).toEqual(whole);
});

test('a final request offers no tools, and refuses what is called all the same', async () => {
  const { model, server, planned } = await setUp({ calls: [{ name: 'list_dir', id: 'c1', arguments: {} }] });
  const answer = await run(quietEnvironment(), model, request(task, { final: true }));
  expect(server.requests[0]?.tools).toEqual([]);
  expect(server.requests[0]?.instructions).toBe('You are default with list_dir.');
  expect(answer.calls).toMatchObject([{ kind: 'refused', call_id: 'c1', error: { code: 'limit_steps' } }]);
  expect(planned).toEqual([]);
});

test('only the root is asked to follow the schema of the session', async () => {
  const schema = { type: 'object', properties: {} };
  const { model, server } = await setUp({ text: '{}' }, { session: { output_schema: schema } });
  const environment = quietEnvironment();
  await run(environment, model, request(task));
  await run(environment, model, request(task, { agent: agentContext({}, { depth: 1 }) }));
  expect(server.requests.map(({ body }) => (body.text as object | undefined) !== undefined)).toEqual([
    true,
    false,
  ]);
});

test('heartbeats carry the end of the text, not the conversation', async () => {
  const text = `start ${'x'.repeat(5_000)} end`;
  const { model } = await setUp(() => ({ text, fault: { kind: 'hang' as const } }));
  const environment = quietEnvironment();
  const beats: { text: string; offset: number }[] = [];
  environment.on('heartbeat', (details) => beats.push(details));
  const running = run(environment, model, request(task));
  await expect.poll(() => beats.length, { timeout: 10_000 }).toBeGreaterThan(2);
  environment.cancel();
  await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
  for (const beat of beats) expect(Object.keys(beat)).toEqual(['text', 'offset']);
  expect(JSON.stringify(beats)).not.toContain('what is here?');
});

test('cancelling ends a call that hangs', async () => {
  const { model } = await setUp({ fault: { kind: 'hang' } });
  const environment = quietEnvironment();
  const running = run(environment, model, request(task));
  setTimeout(() => environment.cancel(), 100);
  await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
});

test('a failure tells Temporal whether and when to try again, and carries the whole error', async () => {
  const { model } = await setUp({
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '5' }, message: 'slow down' },
  });
  const failure = await quietEnvironment()
    .run(model, request(task))
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({
    name: 'ApplicationFailure',
    type: 'model_unreachable',
    nonRetryable: false,
    nextRetryDelay: 5_000,
    details: [{ code: 'model_unreachable', retryable: true, message: expect.stringContaining('slow down') }],
  });
});

test('what nobody has foreseen is an internal error that may pass', async () => {
  const deps = { sessions: { get: () => Promise.reject(new TypeError('oops')) } } as unknown as ModelDeps;
  await expect(run(quietEnvironment(), createModelActivity(deps), request(task))).rejects.toMatchObject({
    type: 'internal',
    nonRetryable: false,
    message: 'TypeError: oops',
  });
});

test('a refusal is not tried again', async () => {
  const { model } = await setUp({ fault: { kind: 'status', status: 401, message: 'who are you?' } });
  await expect(run(quietEnvironment(), model, request(task))).rejects.toMatchObject({
    type: 'model_refused',
    nonRetryable: true,
  });
});

test('outside an activity the same function runs, without heartbeats', async () => {
  const { model } = await setUp({ text: 'ok' });
  expect((await model(request(task))).items).toEqual([said('ok')]);
});

test('an answer says when the conversation nearly fills the window of the model, and only then', async () => {
  // Of which 85 % are 14.5 and 15.3: the call takes 15 tokens.
  for (const [window, full] of [
    [17, true],
    [18, undefined],
  ] as const) {
    const { model } = await setUp(
      { text: 'ok', usage: { input: 10, output: 5 } },
      { windows: { '*': window } },
    );
    expect((await model(request(task))).nearly_full).toBe(full);
    await server?.close();
  }
});

test('a summary is an answer without calls, which the conversation of the worker does not get', async () => {
  const { model, server } = await setUp((asked) =>
    JSON.stringify(asked.items).includes('summary') ? { text: 'in short' } : { text: 'hello' },
  );
  expect(await model({ ...request(task), summary: true })).toMatchObject({
    items: [said('in short')],
    calls: [],
  });
  const more = [...task, textMessage('go on')];
  // With what the worker remembers, and nothing else.
  expect((await model({ ...request(more), fresh: [textMessage('go on')] })).items).toEqual([said('hello')]);
  expect(server.requests).toHaveLength(2);
});
