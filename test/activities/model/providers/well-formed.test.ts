import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatMessages } from '../../../../activities/model/providers/chat-messages.ts';
import { MISSING_OUTPUT, wellFormed } from '../../../../activities/model/providers/well-formed.ts';
import { type Item, textMessage } from '../../../../protocol/index.ts';
import { said, toolCall, toolOutput } from '../conversations.ts';

const task = textMessage('task');
const missing = (call_id: string): Item =>
  ({ ...(toolOutput(call_id, MISSING_OUTPUT) as object), success: false }) as Item;

test('a conversation in order stays as it is', () => {
  const items = [
    task,
    said('I look'),
    toolCall('a'),
    toolCall('b'),
    toolOutput('a'),
    toolOutput('b'),
    said('done'),
  ];
  expect(wellFormed(items)).toEqual(items);
});

test('an output that an interruption has prevented is filled', () => {
  const items = [task, toolCall('a'), toolCall('b'), toolOutput('a'), textMessage('stop')];
  expect(wellFormed(items)).toEqual([
    task,
    toolCall('a'),
    toolCall('b'),
    toolOutput('a'),
    missing('b'),
    textMessage('stop'),
  ]);
});

test('a notice between calls and outputs moves behind the outputs', () => {
  const notice: Item = { type: 'notice', text: 'a child has ended' };
  const items = [task, toolCall('a'), notice, toolOutput('a')];
  expect(wellFormed(items)).toEqual([task, toolCall('a'), toolOutput('a'), notice]);
});

test('an output without a call, and a second one, are left out', () => {
  const items = [task, toolOutput('x'), toolCall('a'), toolOutput('a', 'first'), toolOutput('a', 'second')];
  expect(wellFormed(items)).toEqual([task, toolCall('a'), toolOutput('a', 'first')]);
});

test('a call id that comes again finds its own output', () => {
  const items = [task, toolCall('a'), toolOutput('a', '1'), toolCall('a'), toolOutput('a', '2')];
  expect(wellFormed(items)).toEqual(items);
});

test('names and arguments that no provider takes are made harmless', () => {
  const items = [task, toolCall('a', 'functions.shell now', '{"broken'), toolOutput('a')];
  expect(wellFormed(items)[1]).toMatchObject({ name: 'functions_shell_now', arguments: '{}' });
});

test('reasoning that leads to nothing is left out', () => {
  const thought: Item = { type: 'reasoning', summary: 'hm' };
  expect(wellFormed([task, thought, textMessage('and?'), thought, said('yes')])).toEqual([
    task,
    textMessage('and?'),
    thought,
    said('yes'),
  ]);
});

test('whatever the order of items, every provider can take the result', async () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const item = fc.oneof(
    fc.constant<Item>(task),
    fc.constant<Item>({ type: 'notice', text: 'n' }),
    fc.constant<Item>({ type: 'reasoning', summary: 'r', provider: { chat_field: 'reasoning_content' } }),
    fc.constant(said('text')),
    id.map((call) => toolCall(call)),
    id.map((call) => toolOutput(call)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 25 }), async (items) => {
      const waiting: string[] = [];
      for (const message of await chatMessages('system', items, { working_directory: '/tmp' })) {
        if (message.role === 'tool') {
          expect(waiting.shift()).toBe(message.tool_call_id);
        } else {
          expect(waiting).toEqual([]);
          if (message.role === 'assistant') {
            waiting.push(...(message.tool_calls ?? []).map((call) => call.id));
            expect(message.content !== null || waiting.length > 0).toBe(true);
          }
        }
      }
      expect(waiting).toEqual([]);
    }),
  );
});
