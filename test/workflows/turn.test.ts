import { describe, expect, test } from 'vitest';
import type { ToolAnswer } from '../../protocol/index.ts';
import { Gate } from './gate.ts';
import { call, lastOutput, lines, outputs, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

describe.concurrent('a turn', () => {
  test('is a model call and its answer', async () => {
    const session = await worker().start({ task: 'say hello', script: lines({ root: [say('hello')] }) });
    expect(await session.untilFinal()).toMatchObject({
      agent_id: session.id,
      session_id: session.id,
      status: 'completed',
      message: 'hello',
      closed: false,
      turn: 1,
      step: 1,
      depth: 0,
      task: 'say hello',
      usage: { total_tokens: 15 },
    });
    expect(await session.items()).toEqual([
      { type: 'user_message', content: [{ type: 'text', text: 'say hello' }] },
      { type: 'assistant_message', text: 'hello' },
    ]);
    expect((await session.events()).map((event) => event.type)).toEqual([
      'session.started',
      'turn.started',
      'agent.status',
      'message',
      'message',
      'usage',
      'turn.completed',
      'agent.status',
    ]);
  });

  test('runs tools that only read side by side', async () => {
    const both = new Gate();
    let running = 0;
    const session = await worker().start({
      script: lines({ root: [{ calls: [{ name: 'look' }, { name: 'look' }] }, say('seen')] }),
      tools: {
        look: async () => {
          if (++running === 2) both.open();
          await both.opened;
          return 'a file';
        },
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'seen', step: 2 });
  });

  test('runs tools with effects one at a time, in the order of the calls', async () => {
    const log: string[] = [];
    const logged = async ({ args }: { args: Record<string, unknown> }) => {
      log.push(`${args.n} begins`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      log.push(`${args.n} ends`);
      return `output ${args.n}`;
    };
    const calls = ['act', 'act', 'look', 'act'].map((name, n) => ({ name, args: { n } }));
    const session = await worker().start({
      script: lines({ root: [{ calls }, say('done')] }),
      tools: { act: logged, look: logged },
    });
    await session.untilFinal();
    expect(log).toEqual([0, 1, 2, 3].flatMap((n) => [`${n} begins`, `${n} ends`]));
    const items = await session.items();
    expect(items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []))).toEqual([
      'output 0',
      'output 1',
      'output 2',
      'output 3',
    ]);
  });

  test('goes on with what a tool has failed with, or why a call was refused', async () => {
    const error = { code: 'unknown_tool', message: 'there is no tool fly' } as const;
    const session = await worker().start({
      script: lines({ root: [{ calls: [{ name: 'look' }, { name: 'fly', refused: error }] }, say('I see')] }),
      tools: { look: () => ({ output: 'no such file', success: false }) },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'I see' });
    const items = await session.items();
    expect(lastOutput(items, 'look')).toBe('no such file');
    expect(lastOutput(items, 'fly')).toEqual({ error });
    expect((await session.eventsOf('tool.end')).map(({ name, success }) => [name, success])).toEqual([
      ['fly', false],
      ['look', false],
    ]);
  });

  test('tells the model of a tool that throws', async () => {
    const session = await worker().start({
      script: lines({ root: [call('act'), say('oh')] }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'oh' });
    const items = await session.items();
    expect(lastOutput(items, 'act')).toEqual({ error: { code: 'tool_failed', message: 'nobody plays act' } });
  });

  test('keeps the plan of the agent, and what it was refused for want of an approval', async () => {
    const plan = [{ step: 'look around', status: 'in_progress' as const }];
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [call('look'), say('planned')] }),
      tools: { look: () => ({ output: 'ok', success: true, plan: { plan }, approval_missing: true }) },
    });
    expect(await session.result()).toMatchObject({ status: 'completed', approval_missing: true });
    expect(await session.eventsOf('plan.updated')).toMatchObject([{ plan }]);
  });

  test('fails for want of an approval only in the turn that lacked it, and not by what a client has tried', async () => {
    const refused: ToolAnswer = { output: 'no', success: false, approval_missing: true };
    const session = await worker().start({
      script: lines({
        root: [
          call('look'),
          say('did it otherwise'),
          () => ({ fail: { code: 'model_refused', message: 'no key' } }),
        ],
      }),
      tools: { look: () => refused },
    });
    await session.untilFinal();
    await session.send('more');
    await session.untilFinal('root', 2);
    expect(await session.outcomeOf(await session.call('look'))).toMatchObject({ output: 'no' });
    await session.agent().signal('shutdown');
    expect(await session.result()).not.toHaveProperty('approval_missing');
  });

  test('tells what the model thought as an event of the agent, and not of its parent', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        '*': [{ reasoning: 'I weigh it', text: 'done' }],
      }),
    });
    await session.untilFinal();
    expect(await session.eventsOf('reasoning', 'default-1')).toMatchObject([{ text: 'I weigh it' }]);
    expect(await session.eventsOf('reasoning')).toEqual([]);
  });

  test('ends errored on an empty answer', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [say('')] }),
    });
    expect(await session.result()).toMatchObject({ status: 'errored', code: 'model_answer_empty' });
  });

  test('ends errored with the code of a model that refuses', async () => {
    const fail = { code: 'model_refused', message: '401: no such key' };
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [{ fail }] }),
    });
    expect(await session.result()).toMatchObject({
      status: 'errored',
      code: 'model_refused',
      output: '401: no such key',
    });
    expect(await session.eventsOf('turn.failed')).toMatchObject([
      { turn: 1, code: 'model_refused', reason: '401: no such key' },
    ]);
  });

  test('ends errored as internal where the model fails with an error that is not ours', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [{ fail: { code: 'TypeError', message: 'odd' } }] }),
    });
    expect(await session.result()).toMatchObject({ status: 'errored', code: 'internal', output: 'odd' });
  });

  test('tries a model call again that may succeed later', async () => {
    let calls = 0;
    const session = await worker().start({
      script: () => {
        calls++;
        if (calls > 1) return say('there I am');
        return { fail: { code: 'model_unreachable', message: '503', retryable: true } };
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'there I am', step: 1 });
    expect(calls).toBe(2);
  });

  test('takes so many steps and then hands back, errored', async () => {
    const session = await worker().start({
      limits: { max_steps: 2 },
      session: { one_shot: true },
      script: ({ final }) => (final ? say('half of it') : call('look')),
      tools: { look: () => 'more' },
    });
    const result = await session.result();
    expect(result).toMatchObject({ status: 'errored', code: 'limit_steps' });
    expect(result.output).toContain('agents.max_steps');
    expect(result.output).toContain('half of it');
    expect(session.asked().map(({ final }) => final)).toEqual([false, false, true]);
    expect(await session.status()).toMatchObject({ step: 3 });
  });

  test('leaves no call without an output, where the model asks for tools even in the hand-back', async () => {
    const refused = { code: 'limit_steps', message: 'no tools were on offer' } as const;
    const session = await worker().start({
      limits: { max_steps: 1 },
      script: ({ final, turn }) => {
        if (turn === 2) return say('once more');
        return final ? { calls: [{ name: 'look', refused }] } : call('look');
      },
      tools: { look: () => 'more' },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'errored' });
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ status: 'completed', message: 'once more' });
    const items = await session.items();
    const calls = items.filter((item) => item.type === 'tool_call');
    expect(outputs(items, 'look')).toHaveLength(calls.length);
  });

  test('never begins for a root whose role does not exist', async () => {
    const session = await worker().start({
      role: 'nobody',
      session: { one_shot: true },
      script: lines({ root: [say('never said')] }),
    });
    expect(await session.result()).toMatchObject({
      status: 'errored',
      code: 'unknown_role',
      output: 'there is no role nobody',
    });
    expect(session.asked()).toEqual([]);
  });

  test('never begins for a root whose role cannot be read', async () => {
    const session = await worker().start({
      role: 'broken',
      session: { one_shot: true },
      script: lines({ root: [say('never said')] }),
    });
    expect(await session.result()).toMatchObject({
      status: 'errored',
      code: 'internal',
      output: 'the role broken cannot be read',
    });
  });
});
