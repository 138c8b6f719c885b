import { describe, expect, test } from 'vitest';
import { subagentResultSchema } from '../../protocol/index.ts';
import { Gate } from './gate.ts';
import { call, heard, lastOutput, lines, outputs, say, untilStopped } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const run = (name: string, task: string, more: object = {}) => call('subagent_run', { name, task, ...more });

describe.concurrent('subagent_run', () => {
  test('waits for the result, closes the agent, and tells of start and end with their origin', async () => {
    const session = await worker().start({
      script: lines({
        root: [run('WRITER', 'write it'), ({ items }) => say(lastOutput(items, 'subagent_run').output)],
        'writer-1': [{ text: 'written', reasoning: 'I thought' }],
      }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'written' });
    const items = await session.items();
    const result = lastOutput(items, 'subagent_run');
    expect(result).toEqual({ agent_name: 'writer', task: 'write it', success: true, output: 'written' });
    expect(subagentResultSchema.parse(JSON.parse(JSON.stringify(result)))).toEqual(result);
    expect(heard(items).some((text) => text.startsWith('notice'))).toBe(false);
    expect(heard(await session.items('writer-1'))).toEqual(['write it']);
    expect(await session.status('writer-1')).toMatchObject({ status: 'completed', closed: true });
    expect(await session.eventsOf('subagent.start')).toMatchObject([
      { name: 'writer', description: 'write it', origin: 'main' },
    ]);
    expect(await session.eventsOf('subagent.end')).toMatchObject([
      { name: 'writer', success: true, origin: 'main' },
    ]);
  });

  test('takes another model, and has its task in its instructions, which no child inherits', async () => {
    const session = await worker().start({
      limits: { max_depth: 2 },
      script: lines({
        root: [run('writer', 'one', { model: 'other' }), say('ok')],
        'writer-1': [
          call('spawn_agent', { message: 'two' }),
          call('wait', { ids: ['default-1'] }),
          say('ok'),
        ],
        '*': [say('ok')],
      }),
    });
    await session.untilFinal();
    const [writer] = session.asked('writer-1');
    expect(writer?.settings).toMatchObject({ model: 'other', task_in_instructions: true });
    const [below] = session.asked('writer-1/default-1');
    expect(below?.settings).not.toHaveProperty('task_in_instructions');
  });

  test('several of one answer run side by side', async () => {
    const both = new Gate();
    let begun = 0;
    const session = await worker().start({
      script: lines({
        root: [
          {
            calls: ['one', 'two'].map((task) => ({ name: 'subagent_run', args: { name: 'writer', task } })),
          },
          say('ok'),
        ],
        '*': [
          async ({ items }) => {
            begun++;
            if (begun === 2) both.open();
            await both.opened;
            return say(`did ${heard(items)[0]}`);
          },
        ],
      }),
    });
    await session.untilFinal();
    const results = outputs(await session.items(), 'subagent_run');
    expect(results.map(({ output }) => output)).toEqual(['did one', 'did two']);
  });

  test('whose model fails answers with the error, and without success', async () => {
    const session = await worker().start({
      script: lines({
        root: [run('writer', 'x'), say('ok')],
        '*': [{ fail: { code: 'model_refused', message: 'who are you?' } }],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'subagent_run')).toEqual({
      agent_name: 'writer',
      task: 'x',
      success: false,
      output: '',
      error: expect.stringContaining('who are you?'),
    });
    expect(items.find((item) => item.type === 'tool_output')).toMatchObject({ success: false });
    expect(await session.eventsOf('subagent.end')).toMatchObject([{ success: false }]);
  });

  test('of an agent that there is none of says what failed, and starts nothing', async () => {
    const session = await worker().start({
      script: lines({ root: [run('nobody', 'x'), say('ok')] }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'subagent_run').error).toMatchObject({
      code: 'unknown_role',
      message: 'Sub-agent execution failed: there is no role nobody',
    });
    expect(items.find((item) => item.type === 'tool_output')).toMatchObject({ success: false });
    expect((await session.tree()).agents).toHaveLength(1);
    expect(await session.eventsOf('subagent.end')).toMatchObject([{ name: 'nobody', success: false }]);
  });

  test('hands input that comes meanwhile to the next model call, and does not end early for it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [run('writer', 'x'), say('ok')],
        '*': [
          async () => {
            await gate.opened;
            return say('done');
          },
        ],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    await session.send({ message: 'and this' });
    await session.until('root', (view) => view.waiting_for === 'agents');
    gate.open();
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'subagent_run')).toMatchObject({ output: 'done' });
    expect(heard(session.asked()[1]?.items ?? [])).toContain('and this');
  });

  test('that is interrupted ends, with the turn below it', async () => {
    const session = await worker().start({
      tools: { act: untilStopped(() => {}) },
      script: lines({
        root: [run('writer', 'x'), say('again')],
        '*': [call('act'), say('never')],
      }),
    });
    await session.until('writer-1', (view) => view.waiting_for === 'tool');
    await session.agent().signal('interrupt', { reason: 'enough' });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted' });
    await session.until('writer-1', (view) => view.status === 'interrupted');
    expect(await session.eventsOf('subagent.end')).toMatchObject([{ name: 'writer', success: false }]);
  });

  test('by hand answers the same fields; its origin is the agent that was asked', async () => {
    const session = await worker().start({
      limits: { max_depth: 2 },
      script: lines({
        root: [call('spawn_agent', { message: 'x' }), say('ok')],
        'default-1': [say('idle')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    await session.untilFinal('default-1');
    const operation = await session.call('subagent_run', { name: 'writer', task: 'y' }, 'default-1');
    const outcome = await session.outcomeOf(operation, 'default-1');
    expect(outcome.success).toBe(true);
    expect(subagentResultSchema.parse(JSON.parse(outcome.output))).toMatchObject({ output: 'done' });
    expect(await session.eventsOf('subagent.start', 'default-1')).toMatchObject([
      { origin: session.idOf('default-1') },
    ]);
  });
});
