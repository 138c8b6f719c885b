import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ModelProviders } from '../../../../activities/model/model-providers.ts';
import { textMessage } from '../../../../protocol/index.ts';
import { modelCall, said, toolOutput } from '../conversations.ts';

// A server that others wrote: our own mock and our own provider could agree on a mistake.
const mock = new LLMock({ port: 0 });

beforeAll(async () => {
  mock.on(
    { userMessage: 'look', hasToolResult: false },
    {
      toolCalls: [{ name: 'list_dir', arguments: '{"path":"."}', id: 'call_look' }],
    },
  );
  mock.on({ userMessage: 'look', hasToolResult: true }, { content: 'three files', reasoning: 'counted' });
  mock.on({ userMessage: 'busy' }, { error: { message: 'too many', type: 'rate_limit_error' }, status: 429 });
  await mock.start();
});
afterAll(() => mock.stop());

describe.each(['responses', 'chat'] as const)('against another server, over %s', (wire_api) => {
  const provider = () =>
    new ModelProviders({ OPENAI_API_KEY: 'mock' }).get('openai', {
      openai: { base_url: `${mock.url}/v1`, wire_api },
    });
  const options = { signal: new AbortController().signal, onDelta: () => {} };

  test('a call and its output lead to an answer', async () => {
    const start = [textMessage('look')];
    const { items } = await provider().complete(modelCall(start), options);
    expect(items.at(-1)).toEqual({
      type: 'tool_call',
      call_id: 'call_look',
      name: 'list_dir',
      arguments: '{"path":"."}',
    });
    const reply = await provider().complete(
      modelCall([...start, ...items, toolOutput('call_look')]),
      options,
    );
    expect(reply.items.at(-1)).toMatchObject(said('three files'));
  });

  test('429 may pass', async () => {
    await expect(provider().complete(modelCall([textMessage('busy')]), options)).rejects.toMatchObject({
      code: 'model_unreachable',
      retryable: true,
    });
  });
});
