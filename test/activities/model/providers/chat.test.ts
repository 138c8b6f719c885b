import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { ModelProviders } from '../../../../activities/model/model-providers.ts';
import { chatMessages } from '../../../../activities/model/providers/chat-messages.ts';
import { type Item, noUsage, textMessage } from '../../../../protocol/index.ts';
import { modelCall, said, toolCall, toolOutput } from '../conversations.ts';

let server: Server | undefined;
afterEach(() => server?.close());

/** What the provider makes of a stream with these choices. */
async function replyTo(...chunks: { delta: object; finish_reason?: string }[]) {
  server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const choice of chunks)
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const configured = { local: { base_url: `http://127.0.0.1:${port}/v1`, wire_api: 'chat' as const } };
  const provider = new ModelProviders({}).get('local', configured);
  const options = { signal: new AbortController().signal, onDelta: () => {} };
  return provider.complete(modelCall([textMessage('go')]), options);
}

test('calls that all have index 0 are told apart by their ids', async () => {
  const call = (id: string) => ({ index: 0, id, function: { name: 'shell', arguments: `{"n":"${id}"}` } });
  const { items, usage } = await replyTo(
    { delta: { tool_calls: [call('one')] } },
    { delta: { tool_calls: [call('two')] }, finish_reason: 'tool_calls' },
  );
  expect(items).toEqual([toolCall('one', 'shell', '{"n":"one"}'), toolCall('two', 'shell', '{"n":"two"}')]);
  expect(usage).toEqual(noUsage);
});

test('a call without an id gets one', async () => {
  const tool_calls = [{ index: 0, function: { name: 'shell', arguments: '{}' } }];
  const { items } = await replyTo({ delta: { tool_calls }, finish_reason: 'tool_calls' });
  expect(items).toMatchObject([{ type: 'tool_call', call_id: expect.stringMatching(/^call_\w{32}$/) }]);
});

test('arguments come together from their pieces, of several calls at once', async () => {
  const piece = (index: number, text: string, id?: string) => ({
    delta: {
      tool_calls: [{ index, id, function: id ? { name: 'shell', arguments: text } : { arguments: text } }],
    },
  });
  const { items } = await replyTo(
    piece(0, '{"a"', 'x'),
    piece(1, '{"b"', 'y'),
    piece(0, ':1}'),
    piece(1, ':2}'),
    {
      delta: {},
      finish_reason: 'tool_calls',
    },
  );
  expect(items).toEqual([toolCall('x', 'shell', '{"a":1}'), toolCall('y', 'shell', '{"b":2}')]);
});

test('reasoning in either field is kept', async () => {
  const { items } = await replyTo(
    { delta: { reasoning: 'think ' } },
    { delta: { reasoning: 'twice' } },
    { delta: { content: 'yes' }, finish_reason: 'stop' },
  );
  expect(items).toEqual([
    { type: 'reasoning', summary: 'think twice', provider: { chat_field: 'reasoning' } },
    said('yes'),
  ]);
});

test('reasoning without an answer is returned as such', async () => {
  const { items } = await replyTo({ delta: { reasoning_content: 'hm' }, finish_reason: 'stop' });
  expect(items).toMatchObject([{ type: 'reasoning', summary: 'hm' }]);
});

test('an answer that was cut at its limit is refused, with what it had written', async () => {
  await expect(replyTo({ delta: { content: 'a long st' }, finish_reason: 'length' })).rejects.toMatchObject({
    code: 'model_refused',
    message: expect.stringContaining('a long st'),
  });
});

test('a stream without an end has broken off', async () => {
  await expect(replyTo({ delta: { content: 'a long st' } })).rejects.toMatchObject({
    code: 'model_unreachable',
    retryable: true,
  });
});

test('one answer is one message: texts, calls and content null when it only calls', async () => {
  const items: Item[] = [
    textMessage('task'),
    said('I look'),
    said('at both'),
    toolCall('a'),
    toolCall('b'),
    toolOutput('a'),
    toolOutput('b'),
    toolCall('c'),
    toolOutput('c'),
    { type: 'notice', text: 'a child has ended' },
    textMessage('go on', 'a0k3v9x2m4qd7/worker-1'),
  ];
  const call = (id: string) => ({ id, type: 'function', function: { name: 'list_dir', arguments: '{}' } });
  expect(await chatMessages('Be brief.', items, { working_directory: '/tmp' })).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'task' },
    { role: 'assistant', content: 'I look\n\nat both', tool_calls: [call('a'), call('b')] },
    { role: 'tool', tool_call_id: 'a', content: 'output of a' },
    { role: 'tool', tool_call_id: 'b', content: 'output of b' },
    { role: 'assistant', content: null, tool_calls: [call('c')] },
    { role: 'tool', tool_call_id: 'c', content: 'output of c' },
    {
      role: 'user',
      content:
        '<notice>\na child has ended\n</notice>\n\n<message from="a0k3v9x2m4qd7/worker-1">\ngo on\n</message>',
    },
  ]);
});

test('the reasoning of the turn goes back, that of earlier turns does not', async () => {
  const thought = (summary: string): Item => ({
    type: 'reasoning',
    summary,
    provider: { chat_field: 'reasoning_content' },
  });
  const items = [
    textMessage('one'),
    thought('old'),
    said('first'),
    textMessage('two'),
    thought('new'),
    toolCall('a'),
    toolOutput('a'),
  ];
  const messages = await chatMessages('', items, { working_directory: '/tmp' });
  expect(messages[1]).toEqual({ role: 'assistant', content: 'first' });
  expect(messages[3]).toMatchObject({ reasoning_content: 'new' });
});
