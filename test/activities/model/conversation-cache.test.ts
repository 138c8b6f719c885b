import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConversationCache, type ReadPrefix } from '../../../activities/model/conversation-cache.ts';
import { type AgentId, CadreError, type Item, textMessage } from '../../../protocol/index.ts';
import { AGENT, pointerTo, said, toolCall, toolOutput } from './conversations.ts';

const never: ReadPrefix = async () => {
  throw new Error('must not be read');
};

const first = [textMessage('a task')];
const answer = [said('I look'), toolCall('c1')];
const outputs = [toolOutput('c1')];

test('a conversation that starts here needs no reading', async () => {
  const cache = new ConversationCache();
  expect(await cache.resolve(pointerTo(first), first, never)).toEqual(first);
});

test('after a call, the next one finds everything before the fresh items in the cache', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, answer);
  const whole = [...first, ...answer, ...outputs];
  expect(await cache.resolve(pointerTo(whole), outputs, never)).toEqual(whole);
});

test('an answer that was lost on its way is forgotten when the call is tried again', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, answer);
  expect(await cache.resolve(pointerTo(first), first, never)).toEqual(first);
  const other = [...first, said('other'), textMessage('more')];
  cache.append(AGENT, [said('other')]);
  expect(await cache.resolve(pointerTo(other), [textMessage('more')], never)).toEqual(other);
});

test('a worker that has not seen the conversation reads the prefix, and only that', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  const asked: number[] = [];
  const read: ReadPrefix = async (_, count) => {
    asked.push(count);
    return whole.slice(0, count);
  };
  expect(await cache.resolve(pointerTo(whole), outputs, read)).toEqual(whole);
  expect(asked).toEqual([3]);
});

test('a cached conversation that took another course is read again', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, [said('one course'), toolCall('c1')]);
  const whole = [...first, ...answer, ...outputs];
  const read: ReadPrefix = async (_, count) => whole.slice(0, count);
  expect(await cache.resolve(pointerTo(whole), outputs, read)).toEqual(whole);
});

test('a prefix that does not lead to the digest is an error that may pass', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  const read: ReadPrefix = async () => [textMessage('foreign'), ...answer];
  const failure = await cache.resolve(pointerTo(whole), outputs, read).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CadreError);
  expect(failure).toMatchObject({ retryable: true, message: expect.stringContaining(AGENT) });
});

test('conversations beyond the limit are dropped, the oldest first', async () => {
  const cache = new ConversationCache({ characters: 5_000 });
  const long = [textMessage('x'.repeat(3_000))];
  const other = `${AGENT}/worker-1` as AgentId;
  await cache.resolve(pointerTo(long), long, never);
  await cache.resolve(pointerTo(long, other), long, never);
  const more = [...long, said('more')];
  await expect(cache.resolve(pointerTo(more), [said('more')], never)).rejects.toThrow('must not be read');
  expect(await cache.resolve(pointerTo(more, other), [said('more')], never)).toEqual(more);
});

test('at most four conversations are read at the same time', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  let running = 0;
  let most = 0;
  const read: ReadPrefix = async (_, count) => {
    most = Math.max(most, ++running);
    await sleep(10);
    running--;
    return whole.slice(0, count);
  };
  const agents = Array.from({ length: 12 }, (_, n) => `${AGENT}/worker-${n}` as AgentId);
  await Promise.all(agents.map((agent) => cache.resolve(pointerTo(whole, agent), outputs, read)));
  expect(most).toBe(4);
});

test('whatever was cached, lost or evicted, the model sees exactly the conversation that the pointer means', async () => {
  const step = fc.record({
    fresh: fc.array(
      fc.string().map((text): Item => textMessage(text)),
      { minLength: 1, maxLength: 3 },
    ),
    made: fc.array(fc.string().map(said), { maxLength: 2 }),
    lost: fc.boolean(),
    evicted: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      let cache = new ConversationCache();
      const whole: Item[] = [];
      for (const { fresh, made, lost, evicted } of steps) {
        if (evicted) cache = new ConversationCache();
        whole.push(...fresh);
        const read: ReadPrefix = async (_, count) => whole.slice(0, count);
        expect(await cache.resolve(pointerTo(whole), fresh, read)).toEqual(whole);
        cache.append(AGENT, made);
        if (!lost) whole.push(...made);
      }
    }),
    { numRuns: 50 },
  );
});
