import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { conversationReader } from '../../../activities/model/read-conversation.ts';
import { type Item, type ItemsPage, textMessage } from '../../../protocol/index.ts';
import { AGENT, pointerTo } from './conversations.ts';

const whole: Item[] = Array.from({ length: 10 }, (_, n) => textMessage(`item ${n}`));

/** A client whose agent answers in pages of four items. */
function clientOf(asked: unknown[], answer: (from: number, to: number) => Item[]): Client {
  const query = async (name: string, range: { from: number; to: number }): Promise<ItemsPage> => {
    asked.push([name, range]);
    return { items: answer(range.from, range.to), from: range.from, total: whole.length, compacted: 0 };
  };
  const client = {
    workflow: {
      getHandle: (...ids: unknown[]) => {
        asked.push(ids);
        return { query };
      },
    },
    withDeadline: (_: number, work: () => Promise<unknown>) => work(),
  };
  return client as unknown as Client;
}

test('a prefix is read page by page, from the run that the pointer names', async () => {
  const asked: unknown[] = [];
  const client = clientOf(asked, (from, to) => whole.slice(from, Math.min(to, from + 4)));
  expect(await conversationReader(client)(pointerTo(whole), 0, 9)).toEqual(whole.slice(0, 9));
  expect(asked).toEqual([
    [AGENT, 'run-1'],
    ['items', { from: 0, to: 9 }],
    [AGENT, 'run-1'],
    ['items', { from: 4, to: 9 }],
    [AGENT, 'run-1'],
    ['items', { from: 8, to: 9 }],
  ]);
});

test('only the newest items may be asked for', async () => {
  const client = clientOf([], (from, to) => whole.slice(from, Math.min(to, from + 4)));
  expect(await conversationReader(client)(pointerTo(whole), 2, 9)).toEqual(whole.slice(2, 9));
});

test('an agent that has fewer items than it should ends the reading', async () => {
  const client = clientOf([], (from) => whole.slice(from, 3));
  expect(await conversationReader(client)(pointerTo(whole), 0, 9)).toEqual(whole.slice(0, 3));
});

test('an agent that does not answer may answer later', async () => {
  const client = clientOf([], () => {
    throw new Error('deadline exceeded');
  });
  await expect(conversationReader(client)(pointerTo(whole), 0, 9)).rejects.toMatchObject({
    retryable: true,
    message: expect.stringContaining('deadline exceeded'),
  });
});
