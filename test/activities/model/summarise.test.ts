import { expect, test } from 'vitest';
import { ModelError } from '../../../activities/model/model-error.ts';
import type { ModelCall, ModelProvider, ModelReply } from '../../../activities/model/providers/provider.ts';
import { summarise } from '../../../activities/model/summarise.ts';
import { type Item, noUsage, textMessage } from '../../../protocol/index.ts';
import { AGENT, said, toolCall, toolOutput } from './conversations.ts';

const items: Item[] = [
  textMessage('the task'),
  ...[1, 2, 3, 4].flatMap((n): Item[] => [
    said(`I look ${n}`),
    toolCall(`c${n}`),
    toolOutput(`c${n}`, `${n}`.repeat(5_000)),
  ]),
];
const tool = { name: 'look', description: '', parameters: {} };
const call: ModelCall = {
  agent: { id: AGENT, role: 'default' },
  attempt: 1,
  model: 'm',
  working_directory: '/',
  instructions: '',
  items,
  tools: [tool],
  output_schema: { type: 'object' },
};
const signal = new AbortController().signal;
const usage = { ...noUsage, input_tokens: 10, total_tokens: 10 };

/** A model that takes so many characters. */
function taking(
  most: number,
  reply: (call: ModelCall) => Item[],
): { asked: ModelCall[]; provider: ModelProvider } {
  const asked: ModelCall[] = [];
  const complete = async (request: ModelCall): Promise<ModelReply> => {
    asked.push(request);
    if (JSON.stringify(request.items).length > most) throw new ModelError('context_full', 'too long');
    return { items: reply(request), usage };
  };
  return { asked, provider: { complete } };
}

test('a summary is asked for behind the whole conversation, with the tools that were on offer, in free text', async () => {
  const { asked, provider } = taking(1e6, () => [{ type: 'reasoning', summary: 'hm' }, said('in short')]);
  expect(await summarise(provider, call, signal)).toEqual({ items: [said('in short')], usage });
  const [request] = asked;
  expect(request?.items.slice(0, -1)).toEqual(items);
  expect(request?.items.at(-1)).toMatchObject({ type: 'user_message' });
  expect(request?.tools).toEqual([tool]);
  expect(request?.output_schema).toBeUndefined();
});

test('a model that calls a tool instead is asked again without any', async () => {
  const { asked, provider } = taking(1e6, ({ tools }) =>
    tools.length > 0 ? [toolCall('c9')] : [said('ok')],
  );
  const reply = await summarise(provider, call, signal);
  expect(reply.items).toEqual([said('ok')]);
  expect(reply.usage.total_tokens).toBe(20);
  expect(asked).toHaveLength(2);
});

test('a conversation that is more than the model takes is shortened: its outputs first, then its oldest items', async () => {
  const little = taking(9_000, () => [said('ok')]);
  await summarise(little.provider, call, signal);
  expect(little.asked).toHaveLength(2);
  expect(little.asked[1]?.items).toHaveLength(items.length + 1);
  const less = taking(5_000, () => [said('ok')]);
  await summarise(less.provider, call, signal);
  const last = less.asked.at(-1)?.items ?? [];
  expect(last[0]).toEqual(textMessage('the task'));
  expect(last.length).toBeLessThan(items.length);
  expect(JSON.stringify(last)).toContain('4444');
});

test('a task that is itself more than the model takes is shortened', async () => {
  const { asked, provider } = taking(20_000, () => [said('ok')]);
  const reply = await summarise(provider, { ...call, items: [textMessage('t'.repeat(50_000))] }, signal);
  expect(reply.items).toEqual([said('ok')]);
  expect(JSON.stringify(asked.at(-1)?.items[0])).toContain('50000 characters');
});

test('a model that takes next to nothing is not asked for ever', async () => {
  const { asked, provider } = taking(0, () => []);
  await expect(summarise(provider, call, signal)).rejects.toMatchObject({ code: 'context_full' });
  expect(asked.length).toBeLessThan(10);
});
