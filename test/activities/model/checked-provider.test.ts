import { expect, test } from 'vitest';
import { checkedProvider } from '../../../activities/model/checked-provider.ts';
import type { ModelCall, ModelReply } from '../../../activities/model/providers/provider.ts';
import { noUsage } from '../../../protocol/index.ts';

function answering(reply: unknown): Promise<ModelReply> {
  const provider = checkedProvider({ complete: async () => reply as ModelReply });
  return provider.complete({} as ModelCall, { signal: new AbortController().signal, onDelta: () => {} });
}

test('what is an answer is left as it is', async () => {
  const items = [
    { type: 'reasoning', summary: 's', provider: { type: 'reasoning', id: 'r' } },
    { type: 'assistant_message', text: 't', phase: 'commentary' },
    { type: 'tool_call', call_id: 'c', name: 'shell', arguments: '{' },
  ];
  expect(await answering({ items, usage: noUsage })).toEqual({ items, usage: noUsage });
});

test.each([
  ['a call without a name', { type: 'tool_call', call_id: 'c', arguments: '{}' }],
  ['a call without an id', { type: 'tool_call', call_id: '', name: 'n', arguments: '{}' }],
  ['arguments that are no text', { type: 'tool_call', call_id: 'c', name: 'n', arguments: {} }],
  ['a message that is no text', { type: 'assistant_message', text: null }],
  ['what no model makes', { type: 'user_message', content: [] }],
])('an answer with %s cannot be read, and never reaches the agent', async (_, item) => {
  await expect(answering({ items: [item], usage: noUsage })).rejects.toMatchObject({
    code: 'model_answer_unreadable',
    retryable: true,
    message: expect.stringContaining('item 0'),
  });
});

test('tokens that are no number count as none, and spoil no budget', async () => {
  const usage = {
    ...noUsage,
    input_tokens: 7,
    output_tokens: 'many',
    reasoning_tokens: -1,
    total_tokens: NaN,
  };
  expect((await answering({ items: [], usage })).usage).toEqual({
    ...noUsage,
    input_tokens: 7,
    total_tokens: 7,
  });
});
