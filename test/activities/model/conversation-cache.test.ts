import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConversationCache, type ReadItems } from '../../../activities/model/conversation-cache.ts';
import { type AgentId, CadreError, type FreshItem, type Item, textMessage } from '../../../protocol/index.ts';
import { AGENT, pointerTo, said, toolCall, toolOutput } from './conversations.ts';

const never: ReadItems = async () => {
  throw new Error('must not be read');
};

const first = [textMessage('a task')];
const answer = [said('I look'), toolCall('c1')];
const outputs = [toolOutput('c1')];
const references: FreshItem[] = [{ type: 'output_reference', of: toolOutput('c1', '') }];

/** An agent with these items, and which of them were asked for. */
function reading(whole: readonly Item[]): { read: ReadItems; asked: [number, number][] } {
  const asked: [number, number][] = [];
  const read: ReadItems = async (_, from, to) => {
    asked.push([from, to]);
    return whole.slice(from, to);
  };
  return { read, asked };
}

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

test('a worker that has not seen the conversation reads it from the agent', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  const { read, asked } = reading(whole);
  expect(await cache.resolve(pointerTo(whole), outputs, read)).toEqual(whole);
  expect(asked).toEqual([[0, 4]]);
});

test('the output of a tool that this worker ran is not read again', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, answer);
  cache.remember(AGENT, 'c1', 'output of c1');
  const whole = [...first, ...answer, ...outputs];
  expect(await cache.resolve(pointerTo(whole), references, never)).toEqual(whole);
});

test('the output of a tool that another worker ran is read from the agent, without what is known', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, answer);
  const whole = [...first, ...answer, ...outputs];
  const { read, asked } = reading(whole);
  expect(await cache.resolve(pointerTo(whole), references, read)).toEqual(whole);
  expect(asked).toEqual([[3, 4]]);
});

test('an output that is not the one in the conversation is read again', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, answer);
  cache.remember(AGENT, 'c1', 'what an attempt saw whose answer was lost');
  const whole = [...first, ...answer, ...outputs];
  expect(await cache.resolve(pointerTo(whole), references, reading(whole).read)).toEqual(whole);
});

test('a call that is tried again needs no output twice', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  await cache.resolve(pointerTo(whole), whole, never);
  expect(await cache.resolve(pointerTo(whole), references, never)).toEqual(whole);
});

test('a cached conversation that took another course is read again', async () => {
  const cache = new ConversationCache();
  await cache.resolve(pointerTo(first), first, never);
  cache.append(AGENT, [said('one course'), toolCall('c1')]);
  const whole = [...first, ...answer, ...outputs];
  const read: ReadItems = async (_, from, to) => whole.slice(from, to);
  expect(await cache.resolve(pointerTo(whole), outputs, read)).toEqual(whole);
});

test('a prefix that does not lead to the digest is an error that may pass', async () => {
  const cache = new ConversationCache();
  const whole = [...first, ...answer, ...outputs];
  const read: ReadItems = async () => [textMessage('foreign'), ...answer];
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
  const read: ReadItems = async (_, from, to) => {
    most = Math.max(most, ++running);
    await sleep(10);
    running--;
    return whole.slice(from, to);
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
    output: fc.option(fc.string(), { nil: undefined }),
    remembered: fc.boolean(),
    made: fc.array(fc.string().map(said), { maxLength: 2 }),
    lost: fc.boolean(),
    evicted: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      let cache = new ConversationCache();
      const whole: Item[] = [];
      for (const [index, { output, remembered, made, lost, evicted, ...rest }] of steps.entries()) {
        const fresh: FreshItem[] = [...rest.fresh];
        if (evicted) cache = new ConversationCache();
        whole.push(...rest.fresh);
        if (output !== undefined) {
          const call_id = `c${index}`;
          whole.push(toolOutput(call_id, output));
          fresh.push({ type: 'output_reference', of: toolOutput(call_id, '') });
          if (remembered) cache.remember(AGENT, call_id, output);
        }
        const read: ReadItems = async (_, from, to) => whole.slice(from, to);
        expect(await cache.resolve(pointerTo(whole), fresh, read)).toEqual(whole);
        cache.append(AGENT, made);
        if (!lost) whole.push(...made);
      }
    }),
    { numRuns: 50 },
  );
});
