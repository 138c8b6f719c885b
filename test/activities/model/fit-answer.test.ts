import { expect, test } from 'vitest';
import { ANSWER_BYTES_MAX, fitAnswer } from '../../../activities/model/fit-answer.ts';
import type { Item, ToolCall } from '../../../protocol/index.ts';

const call = (call_id: string, text: string): ToolCall => ({
  type: 'tool_call',
  call_id,
  name: 'write',
  arguments: JSON.stringify({ text }),
});
const say = (text: string): Item => ({ type: 'assistant_message', text });
const bytesOf = (items: readonly Item[]) => Buffer.byteLength(JSON.stringify(items));

function keeping() {
  const kept: string[] = [];
  const store = async (text: string) => {
    kept.push(text);
    return { handle: `h_${kept.length}` };
  };
  return { kept, store };
}

test('what fits is left as it is, and nothing is stored', async () => {
  const { kept, store } = keeping();
  const items = [say('x'.repeat(400_000)), call('c1', 'y'.repeat(400_000))];
  const fitted = await fitAnswer(items, store);
  expect(fitted.items).toBe(items);
  expect(fitted.refused.size).toBe(0);
  expect(kept).toEqual([]);
});

test.each([
  ['plain', 'x'],
  ['of several bytes', '語'],
  ['that JSON escapes', '\u0001'],
])('a text that is too large is cut, and stored whole: %s', async (_, character) => {
  const { kept, store } = keeping();
  const text = `begin ${character.repeat(1_200_000)} end`;
  const { items } = await fitAnswer([say(text)], store);
  expect(kept).toEqual([text]);
  expect(bytesOf(items)).toBeLessThan(ANSWER_BYTES_MAX);
  const [cut] = items;
  expect(cut).toMatchObject({ text: expect.stringMatching(/^begin .*left out; stored as h_1 .* end$/s) });
});

test('a call that is too large is refused, and those that fit are kept', async () => {
  const { kept, store } = keeping();
  const small = call('c2', 'small');
  const { items, refused } = await fitAnswer([call('c1', 'y'.repeat(2_000_000)), small], store);
  expect(items).toEqual([expect.objectContaining({ call_id: 'c1', arguments: '{}' }), small]);
  const errors = [...refused].map(([{ call_id }, error]) => [call_id, error]);
  expect(errors).toEqual([
    ['c1', expect.objectContaining({ message: expect.stringMatching(/2\.00 MB; stored as h_1/) })],
  ]);
  expect(kept).toHaveLength(1);
});

test('of calls that are too many together some are kept, some refused, and the number of the others is told', async () => {
  const { store } = keeping();
  const calls = Array.from({ length: 5_000 }, (_, index) => call(`c${index}`, 'z'.repeat(1_000)));
  const { items, refused } = await fitAnswer([say('here they are'), ...calls], store);
  expect(bytesOf(items)).toBeLessThan(ANSWER_BYTES_MAX);
  const last = [...refused.values()].at(-1);
  const left = Number(last?.message.match(/(\d+) more calls/)?.[1]);
  expect(items.length - 1 + left).toBe(calls.length);
});

test('a reasoning that is too large is left out: its provider has sealed it', async () => {
  const { store } = keeping();
  const sealed: Item = { type: 'reasoning', summary: '', provider: { sealed: 'x'.repeat(1_000_000) } };
  const { items } = await fitAnswer([sealed, say('answer')], store);
  expect(items).toEqual([say('answer')]);
});
