import { expect, test } from 'vitest';
import type { AgentEvent } from '../../protocol/index.ts';
import { Gate } from './gate.ts';
import { heard, lastOutput, lines, outputs, type Say, say } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const named = (id: string, name: string, args: object = {}): Say => ({ calls: [{ id, name, args }] });
const CHILD = { id: 'default-1' };

test('a child is spawned, works while its parent does, gets input, is waited for, closed and brought back; each step is told with its call', async () => {
  const [looked, go] = [new Gate(), new Gate()];
  const session = await worker().start({
    tools: { look: () => looked.opened.then(() => 'seen') },
    script: lines({
      root: [
        named('c-spawn', 'spawn_agent', { message: 'the part' }),
        named('c-look', 'look'),
        named('c-send', 'send_input', { ...CHILD, message: 'mind the dog' }),
        () => {
          go.open();
          return named('c-wait', 'wait', { ids: ['default-1'] });
        },
        named('c-close', 'close_agent', CHILD),
        named('c-resume', 'resume_agent', CHILD),
        named('c-again', 'send_input', { ...CHILD, message: 'once more' }),
        named('c-wait-again', 'wait', { ids: ['default-1'] }),
        say('ok'),
      ],
      'default-1': [
        () => go.opened.then(() => say('a draft')),
        ({ items }) => say(`first: ${heard(items).join()}`),
        ({ items }) => say(`second: ${heard(items).join()}`),
      ],
    }),
  });
  // Both are at work.
  await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
  await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
  looked.open();
  expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok', turn: 1 });

  const id = session.idOf('default-1');
  const first = { completed: 'first: the part,mind the dog' };
  const second = { completed: 'second: the part,mind the dog,once more' };
  const items = await session.items();
  expect(lastOutput(items, 'spawn_agent')).toEqual({ agent_id: id });
  expect(lastOutput(items, 'look')).toBe('seen');
  expect(outputs(items, 'wait')).toEqual([
    { status: { [id]: first }, timed_out: false },
    { status: { [id]: second }, timed_out: false },
  ]);
  expect(lastOutput(items, 'close_agent')).toEqual({ status: first, closed: [id] });
  expect(lastOutput(items, 'resume_agent')).toEqual({ status: first });

  const told = (await session.events()).filter(({ type }) => /^agent\.(?!status|note)/.test(type));
  expect(told.map(({ type, ...event }) => [type, (event as { call_id?: string }).call_id])).toEqual([
    ['agent.spawn.begin', 'c-spawn'],
    ['agent.spawn.end', 'c-spawn'],
    ['agent.input.begin', 'c-send'],
    ['agent.input.end', 'c-send'],
    ['agent.wait.begin', 'c-wait'],
    ['agent.wait.end', 'c-wait'],
    ['agent.close.begin', 'c-close'],
    ['agent.close.end', 'c-close'],
    ['agent.resume.begin', 'c-resume'],
    ['agent.resume.end', 'c-resume'],
    ['agent.input.begin', 'c-again'],
    ['agent.input.end', 'c-again'],
    ['agent.wait.begin', 'c-wait-again'],
    ['agent.wait.end', 'c-wait-again'],
  ]);
  for (const event of told) expect(event).toMatchObject({ sender_id: session.id });
  const of = (callId: string, end: 'begin' | 'end') =>
    told.find(
      (event: AgentEvent & { call_id?: string }) => event.call_id === callId && event.type.endsWith(end),
    );
  expect(of('c-spawn', 'begin')).toMatchObject({ prompt: 'the part' });
  expect(of('c-spawn', 'end')).toMatchObject({
    receiver_id: id,
    prompt: 'the part',
    status: expect.toBeOneOf(['pending_init', 'running']),
  });
  expect(of('c-send', 'begin')).toMatchObject({ receiver_id: id, prompt: 'mind the dog' });
  expect(of('c-send', 'end')).toMatchObject({ receiver_id: id, prompt: 'mind the dog', status: 'running' });
  expect(of('c-wait', 'begin')).toMatchObject({ receiver_ids: [id] });
  expect(of('c-wait', 'end')).toMatchObject({ statuses: { [id]: first }, timed_out: false });
  expect(of('c-close', 'begin')).toMatchObject({ receiver_id: id });
  expect(of('c-close', 'end')).toMatchObject({ receiver_id: id, status: first });
  expect(of('c-resume', 'end')).toMatchObject({ receiver_id: id, status: first });
  expect(of('c-wait-again', 'end')).toMatchObject({ statuses: { [id]: second } });
});
