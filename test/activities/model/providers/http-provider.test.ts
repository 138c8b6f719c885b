import { afterEach, describe, expect, test } from 'vitest';
import { ModelError } from '../../../../activities/model/model-error.ts';
import { ModelProviders } from '../../../../activities/model/model-providers.ts';
import type { ModelCall } from '../../../../activities/model/providers/provider.ts';
import { type Item, type ProviderSettings, type ToolCall, textMessage } from '../../../../protocol/index.ts';
import {
  type Answer,
  type Answerer,
  type ModelServer,
  type ModelServerOptions,
  startModelServer,
} from '../../../support/model-server.ts';
import { modelCall, said, toolOutput } from '../conversations.ts';

const SECRET = 'sk-test-very-secret';
const task = [textMessage('what is here?')];
let server: ModelServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

interface Setup extends ModelServerOptions {
  settings?: Partial<ProviderSettings>;
  environment?: Record<string, string>;
  idleMs?: number;
}

/** A provider `local` that is reached at a new model server. */
async function providerAt(answer: Answer | Answerer, setup: Setup = {}) {
  const { settings, environment = {}, idleMs, ...options } = setup;
  server = await startModelServer(typeof answer === 'function' ? answer : () => answer, options);
  const providers = new ModelProviders(environment, idleMs === undefined ? {} : { idleMs });
  const provider = providers.get('local', { local: { base_url: server.url, ...settings } });
  const complete = (call: ModelCall, signal = new AbortController().signal) => {
    const deltas: string[] = [];
    return provider
      .complete(call, { signal, onDelta: (text) => deltas.push(text) })
      .then((reply) => ({ ...reply, deltas }));
  };
  return { complete, server };
}

async function failureOf(promise: Promise<unknown>): Promise<ModelError> {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

describe.each(['responses', 'chat'] as const)('over %s', (wire_api) => {
  const settings = { wire_api };

  test('an answer streams in, and comes back whole with its usage', async () => {
    const { complete } = await providerAt(
      { text: 'three files', usage: { input: 100, cached: 60, output: 20, reasoning: 5 } },
      { settings },
    );
    const reply = await complete(modelCall(task));
    expect(reply.items).toEqual([said('three files')]);
    expect(reply.deltas.join('')).toBe('three files');
    expect(reply.deltas.length).toBeGreaterThan(1);
    expect(reply.usage).toEqual({
      input_tokens: 100,
      cached_input_tokens: 60,
      output_tokens: 20,
      reasoning_tokens: 5,
      total_tokens: 120,
    });
  });

  test('tool calls keep their order, ids and arguments', async () => {
    const calls = [
      { name: 'shell', id: 'c1', arguments: { command: 'ls -la' } },
      { name: 'read_file', id: 'c2', arguments: '{"path": broken' },
    ];
    const { complete } = await providerAt({ text: 'I look', calls }, { settings });
    const { items } = await complete(modelCall(task));
    expect(items).toEqual([
      said('I look'),
      { type: 'tool_call', call_id: 'c1', name: 'shell', arguments: '{"command":"ls -la"}' },
      { type: 'tool_call', call_id: 'c2', name: 'read_file', arguments: '{"path": broken' },
    ]);
  });

  test('reasoning is kept and goes back in its place with the next call', async () => {
    const { complete, server } = await providerAt(
      ({ answers }) =>
        answers === 0
          ? { reasoning: 'look first', calls: [{ name: 'list_dir', id: 'c1', arguments: {} }] }
          : { text: 'done' },
      { settings },
    );
    const { items } = await complete(modelCall(task));
    expect(items[0]).toMatchObject({ type: 'reasoning', summary: 'look first' });
    await complete(modelCall([...task, ...items, toolOutput('c1')]));
    const body = server.requests[1]?.body as { input?: unknown[]; messages?: unknown[] };
    if (wire_api === 'responses') {
      expect(body.input?.[1]).toEqual({
        type: 'reasoning',
        id: expect.stringMatching(/^rs_/),
        summary: [{ type: 'summary_text', text: 'look first' }],
        encrypted_content: 'sealed look first',
      });
    } else {
      expect(body.messages?.[2]).toMatchObject({ role: 'assistant', reasoning_content: 'look first' });
    }
  });

  test('instructions, tools and effort are sent; nothing is stored with the provider', async () => {
    const { complete, server } = await providerAt({ text: 'ok' }, { settings });
    await complete(modelCall(task, { reasoning_effort: 'high' }));
    const seen = server.requests[0];
    expect(seen).toMatchObject({
      wire: wire_api,
      instructions: 'Be brief.',
      tools: ['list_dir'],
      task: 'what is here?',
    });
    expect(seen?.body).toMatchObject(
      wire_api === 'responses'
        ? {
            store: false,
            stream: true,
            include: ['reasoning.encrypted_content'],
            reasoning: { effort: 'high', summary: 'auto' },
            prompt_cache_key: 'a0k3v9x2m4qd7',
          }
        : { stream: true, stream_options: { include_usage: true }, reasoning_effort: 'high' },
    );
  });

  test('a call without tools offers none', async () => {
    const { complete, server } = await providerAt({ text: 'ok' }, { settings });
    await complete(modelCall(task, { tools: [] }));
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
  });

  test('a schema for the answer is sent, strict only where the schema allows it', async () => {
    const { complete, server } = await providerAt({ text: '{}' }, { settings });
    const open = { type: 'object', properties: { n: { type: 'number' } } };
    const closed = { ...open, required: ['n'], additionalProperties: false };
    await complete(modelCall(task, { output_schema: open }));
    await complete(modelCall(task, { output_schema: closed }));
    const formats = server.requests.map(({ body }) =>
      wire_api === 'responses'
        ? (body.text as { format: unknown }).format
        : (body.response_format as { json_schema: unknown }).json_schema,
    );
    expect(formats).toMatchObject([
      { name: 'answer', schema: open, strict: false },
      { schema: closed, strict: true },
    ]);
  });

  test('an empty answer is no error: it has no items', async () => {
    const { complete } = await providerAt({ fault: { kind: 'empty' } }, { settings });
    expect((await complete(modelCall(task))).items).toEqual([]);
  });

  test('429 may pass, not before the time that the provider names', async () => {
    const { complete } = await providerAt(
      { fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' }, message: 'slow down' } },
      { settings },
    );
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'model_unreachable', retryable: true, retryAfterMs: 7_000 });
    expect(error.message).toContain('slow down');
  });

  test.each([408, 409, 500, 503])('%i may pass', async (status) => {
    const { complete } = await providerAt({ fault: { kind: 'status', status } }, { settings });
    expect(await failureOf(complete(modelCall(task)))).toMatchObject({
      code: 'model_unreachable',
      retryable: true,
    });
  });

  test('an empty account is a refusal, though the status says "later"', async () => {
    const { complete } = await providerAt(
      { fault: { kind: 'status', status: 429, code: 'insufficient_quota' } },
      { settings },
    );
    expect(await failureOf(complete(modelCall(task)))).toMatchObject({
      code: 'model_refused',
      retryable: false,
    });
  });

  test('a stream that breaks off may pass', async () => {
    const { complete } = await providerAt({ text: 'half of this', fault: { kind: 'drop' } }, { settings });
    expect(await failureOf(complete(modelCall(task)))).toMatchObject({
      code: 'model_unreachable',
      retryable: true,
    });
  });

  test('an answer that is not JSON may pass', async () => {
    const { complete } = await providerAt({ fault: { kind: 'invalid_json' } }, { settings });
    expect(await failureOf(complete(modelCall(task)))).toMatchObject({
      code: 'model_answer_unreadable',
      retryable: true,
    });
  });

  test('an answer that hangs is given up, and may pass', async () => {
    const { complete } = await providerAt({ fault: { kind: 'hang' } }, { settings, idleMs: 300 });
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'model_unreachable', retryable: true });
    expect(error.message).toContain('sent nothing');
  });

  test('an abort ends a call that hangs', async () => {
    const { complete } = await providerAt({ fault: { kind: 'hang' } }, { settings });
    const abort = new AbortController();
    const running = complete(modelCall(task), abort.signal);
    setTimeout(() => abort.abort(), 100);
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('a wrong key is refused, with the variable it came from and never the key', async () => {
    const { complete } = await providerAt(
      { text: 'never' },
      { settings: { wire_api, env_key: 'MY_KEY' }, environment: { MY_KEY: SECRET }, key: 'another' },
    );
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'model_refused', retryable: false });
    expect(error.hint).toContain('MY_KEY');
    expect(JSON.stringify([error.body, error.message])).not.toContain(SECRET);
  });

  test('an unknown model is refused, with the models on offer', async () => {
    const { complete } = await providerAt({ text: 'never' }, { settings, models: ['one', 'two'] });
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'model_refused', retryable: false });
    expect(error.hint).toBe('Models on offer: one, two');
  });

  test.each([
    [400, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000."],
    [400, 'request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it'],
    [500, 'Context size has been exceeded.'],
    [413, 'prompt is too long'],
  ])('a conversation that is too long is told as that, and not tried again (%s)', async (status, message) => {
    const { complete } = await providerAt({ fault: { kind: 'status', status, message } }, { settings });
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'context_full', retryable: false });
    expect(error.message).toContain(message);
  });

  test('other refusals carry the words of the provider', async () => {
    const message = "Unsupported value: 'reasoning_effort' does not support 'xhigh'";
    const { complete } = await providerAt({ fault: { kind: 'status', status: 400, message } }, { settings });
    const error = await failureOf(complete(modelCall(task)));
    expect(error).toMatchObject({ code: 'model_refused', retryable: false });
    expect(error.message).toContain(message);
  });

  test('call ids that come again in a later answer are made unique', async () => {
    const { complete } = await providerAt(
      { calls: [{ name: 'list_dir', id: 'call_0', arguments: {} }] },
      { settings },
    );
    const first = await complete(modelCall(task));
    const before: Item[] = [...task, ...first.items, toolOutput('call_0')];
    const { items } = await complete(modelCall(before));
    expect(items).toMatchObject([{ call_id: 'call_0_2' }]);
  });
});

test('without wire_api, chat is used where responses answers 404, and from then on at once', async () => {
  const { complete, server } = await providerAt({ text: 'hi' }, { wires: ['chat'] });
  expect((await complete(modelCall(task))).items).toEqual([said('hi')]);
  await complete(modelCall(task));
  expect(server.requests.map(({ wire }) => wire)).toEqual(['chat', 'chat']);
});

test('without wire_api, 405 leads to chat as well', async () => {
  const { complete } = await providerAt(({ wire }) =>
    wire === 'responses' ? { fault: { kind: 'status', status: 405 } } : { text: 'hi' },
  );
  expect((await complete(modelCall(task))).items).toEqual([said('hi')]);
});

test('an unknown model does not make the provider one for chat', async () => {
  const { complete, server } = await providerAt({ text: 'hi' }, { models: ['other'] });
  await failureOf(complete(modelCall(task)));
  await complete(modelCall(task, { model: 'other' }));
  expect(server.requests.map(({ wire }) => wire)).toEqual(['responses', 'responses']);
});

test('where neither format exists, the error says what to check', async () => {
  const { complete } = await providerAt({ text: 'never' }, { wires: [] });
  const error = await failureOf(complete(modelCall(task)));
  expect(error).toMatchObject({ code: 'model_refused', retryable: false });
  expect(error.hint).toContain('base URL');
});

test('nobody at the address may pass, and the message says so', async () => {
  const { complete, server } = await providerAt({ text: 'never' });
  await server.close();
  const error = await failureOf(complete(modelCall(task)));
  expect(error).toMatchObject({ code: 'model_unreachable', retryable: true });
  expect(error.message).toContain('ECONNREFUSED');
});

test.each([
  ['include', 'Encrypted content is not supported with this model.'],
  ['reasoning.summary', 'Your organization must be verified to generate reasoning summaries.'],
  ['prompt_cache_key', "Unrecognized request argument: 'prompt_cache_key'"],
])('a model that does not take %s is called without it, also later', async (param, message) => {
  const has = (body: Record<string, unknown>) =>
    param === 'reasoning.summary' ? body.reasoning !== undefined : body[param] !== undefined;
  const { complete, server } = await providerAt(
    ({ body }) =>
      has(body) ? { fault: { kind: 'status', status: 400, message, param } } : { text: 'works' },
    { settings: { wire_api: 'responses' } },
  );
  expect((await complete(modelCall(task))).items).toEqual([said('works')]);
  await complete(modelCall(task));
  expect(server.requests).toHaveLength(3);
});

test('the provider’s own search is asked for, told of, and goes back to it in its place', async () => {
  const settings = { wire_api: 'responses' } as const;
  const { complete, server } = await providerAt(
    { reasoning: 'look it up', search: 'what is new', text: 'this is new' },
    { settings },
  );
  const { items } = await complete(modelCall(task, { web_search: true }));
  expect(items).toMatchObject([
    { type: 'reasoning', summary: 'look it up' },
    { type: 'reasoning', summary: 'Searched the web: what is new' },
    { type: 'assistant_message', text: 'this is new' },
  ]);
  await complete(modelCall([...task, ...items, textMessage('and now?')]));
  const bodies = server.requests.map(({ body }) => body as { tools?: unknown[]; input: { type?: string }[] });
  expect(bodies[0]?.tools).toContainEqual({ type: 'web_search' });
  expect(bodies[1]?.tools ?? []).not.toContainEqual({ type: 'web_search' });
  expect(bodies[1]?.input[2]).toEqual({
    type: 'web_search_call',
    id: expect.stringMatching(/^ws_/),
    status: 'completed',
    action: { type: 'search', query: 'what is new' },
  });
});

test.each([
  ['its own', { call_id: 'call_own' }, 'call_own'],
  ['that of the item', {}, expect.stringMatching(/^lsh_/)],
])('a command in a provider’s own form is a call of the shell; its id is %s', async (_, id, expected) => {
  const action = { type: 'exec', command: ['ls', '-a'], env: { LC_ALL: 'C' }, timeout_ms: 5_000 };
  const { complete, server } = await providerAt(
    { localShell: { ...id, ...action, working_directory: '/srv' } },
    { settings: { wire_api: 'responses' } },
  );
  const { items } = await complete(modelCall(task));
  expect(items).toEqual([
    { type: 'tool_call', call_id: expected, name: 'shell', arguments: expect.any(String) },
  ]);
  const [call] = items as [ToolCall];
  expect(JSON.parse(call.arguments)).toEqual({
    command: ['env', 'LC_ALL=C', 'ls', '-a'],
    workdir: '/srv',
    timeout_ms: 5_000,
  });
  const output: Item = { type: 'tool_output', call_id: call.call_id, output: 'a', success: true };
  await complete(modelCall([...task, call, output]));
  const body = server.requests[1]?.body as { input: { type?: string }[] };
  expect(body.input.slice(1)).toMatchObject([
    { type: 'function_call', name: 'shell', call_id: call.call_id },
    { type: 'function_call_output', call_id: call.call_id },
  ]);
});

test('where a server gives no id of a call, that of the item is its id', async () => {
  const calls = [0, 1].map(() => ({ name: 'list_dir', arguments: {}, id: '' }));
  const { complete, server } = await providerAt({ calls }, { settings: { wire_api: 'responses' } });
  const { items } = await complete(modelCall(task));
  expect(items).toMatchObject([
    { type: 'tool_call', call_id: expect.stringMatching(/^fc_.*_0$/) },
    { type: 'tool_call', call_id: expect.stringMatching(/^fc_.*_1$/) },
  ]);
  const outputs = (items as ToolCall[]).map(({ call_id }) => toolOutput(call_id));
  await complete(modelCall([...task, ...items, ...outputs]));
  const body = server.requests[1]?.body as { input: { call_id?: string }[] };
  const ids = (items as ToolCall[]).map(({ call_id }) => call_id);
  expect(body.input.slice(1).map(({ call_id }) => call_id)).toEqual([...ids, ...ids]);
});

test('a command in such a form that tells nothing is a call that the shell refuses', async () => {
  const settings = { wire_api: 'responses' } as const;
  const { complete } = await providerAt({ localShell: { command: undefined } }, { settings });
  const { items } = await complete(modelCall(task));
  expect(items).toMatchObject([{ type: 'tool_call', name: 'shell', arguments: '{"command":[]}' }]);
});

test('Chat Completions, which have no such tool, are asked without it, and say so', async () => {
  const { complete, server } = await providerAt({ text: 'ok' }, { settings: { wire_api: 'chat' } });
  expect(await complete(modelCall(task, { web_search: true }))).toMatchObject({ without_search: true });
  expect(await complete(modelCall(task))).not.toHaveProperty('without_search');
  expect(JSON.stringify(server.requests[0]?.body)).not.toContain('web_search');
});

test('reasoning that the provider cannot read back is left out, so that the conversation goes on', async () => {
  const { complete } = await providerAt(
    ({ items }) =>
      items.some((item) => item.type === 'reasoning')
        ? { fault: { kind: 'status', status: 400, code: 'invalid_encrypted_content', message: 'no' } }
        : { text: 'works' },
    { settings: { wire_api: 'responses' } },
  );
  const thought: Item = {
    type: 'reasoning',
    summary: '',
    provider: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of another account' },
  };
  const reply = await complete(modelCall([...task, thought, said('earlier'), textMessage('and now?')]));
  expect(reply.items).toEqual([said('works')]);
});
