import { describe, expect, test } from 'vitest';
import type { AgentSettings, Operate, OperateAnswer } from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { lines, never, say, untilStopped } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
/** Two seconds are promised; a busy machine gets more, but far less than the call would take. */
const WITHIN_MS = 10_000;

/** On the agent's own clock, from the signal to the end of the run. */
async function closed(session: ScriptedSession): Promise<number> {
  await session.agent().signal('shutdown');
  await session.result();
  const { events } = await session.agent().fetchHistory();
  const asked = events?.findLast(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'shutdown',
  );
  const time = (event: typeof asked) => Number(event?.eventTime?.seconds) * 1_000;
  return time(events?.at(-1)) - time(asked);
}

test('what a client asks twice under one id is done once, and answered as often as it is looked for', async () => {
  const session = await worker().start({
    script: lines({ root: [say('ok')] }),
    tools: { act: ({ args }) => `did ${args.n}` },
  });
  await session.untilFinal();
  const ask = (id: string, n: number): Promise<OperateAnswer> => {
    const request: Operate = { operation: 'call', id, tool: 'act', arguments: JSON.stringify({ n }) };
    return session.agent().executeUpdate<OperateAnswer, [Operate]>('_operate', { args: [request] });
  };
  const answers = await Promise.all([ask('one', 1), ask('two', 2), ask('one', 1)]);
  expect(answers.map(({ operation_id }) => operation_id)).toEqual(['one', 'two', 'one']);
  expect(await session.outcomeOf('one')).toMatchObject({ success: true, output: 'did 1' });
  expect(await session.outcomeOf('two')).toMatchObject({ success: true, output: 'did 2' });
  expect(await session.eventsOf('tool.begin')).toHaveLength(2);
});

describe.concurrent('closing an agent that a client has do something', () => {
  test('stops a tool that runs', async () => {
    let cancelled = false;
    const session = await worker().start({
      script: lines({ root: [say('ok')] }),
      tools: {
        act: untilStopped(() => {
          cancelled = true;
        }),
      },
    });
    await session.untilFinal();
    const operation = await session.call('act');
    await eventually(async () => expect(await session.eventsOf('tool.begin')).toHaveLength(1));
    expect(await closed(session)).toBeLessThan(WITHIN_MS);
    expect(cancelled).toBe(true);
    expect(await session.outcomeOf(operation)).toMatchObject({
      success: false,
      output: expect.stringContaining('interrupted'),
    });
  });

  test('does not wait for a tool that does not say that it has stopped', async () => {
    const session = await worker().start({
      script: lines({ root: [say('ok')] }),
      tools: { mute: never },
    });
    await session.untilFinal();
    const operation = await session.call('mute');
    await eventually(async () => expect(await session.eventsOf('tool.begin')).toHaveLength(1));
    expect(await closed(session)).toBeLessThan(WITHIN_MS);
    const { output } = await session.outcomeOf(operation);
    expect(JSON.parse(output).error.code).toBe('outcome_unknown');
  });

  test('closes the agent, too, that it is just starting', async () => {
    const session = await worker().start({
      script: lines({ root: [say('ok')], '*': [never] }),
    });
    await session.untilFinal();
    await session.call('spawn_agent', { message: 'x', agent_type: 'late' });
    await eventually(async () => expect((await session.tree()).agents).toHaveLength(2));
    await session.agent().signal('shutdown');
    expect((await session.result()).closed).toEqual([session.idOf('late-1'), session.id]);
    await eventually(async () => {
      const { status } = await session.agent('late-1').describe();
      expect(status.name).toBe('COMPLETED');
    });
  });
});

describe.concurrent('what a client has an agent do', () => {
  test('is not stopped by an interrupt of the turn', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: () => never(),
      tools: { act: () => gate.opened.then(() => 'made') },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    const operation = await session.call('act');
    await eventually(async () => expect(await session.eventsOf('tool.begin')).toHaveLength(1));
    await session.agent().signal('interrupt');
    await session.untilFinal();
    // A tool that was told to stop would be left behind by now.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    gate.open();
    expect(await session.outcomeOf(operation)).toEqual({ state: 'done', success: true, output: 'made' });
  });

  test('is not shown as what the turn does', async () => {
    const session = await worker().start({ script: () => never(), tools: { look: () => 'a file' } });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await session.outcomeOf(await session.call('look'));
    const view = await session.status();
    expect(view).toMatchObject({ status: 'running', waiting_for: 'model' });
    expect(view).not.toHaveProperty('current_tool');
  });

  test('is no idleness, and the time for that begins when it is done', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_runtime_ms: 3_000 },
      script: lines({ root: [say('ok')] }),
      tools: { act: () => gate.opened.then(() => 'made') },
    });
    await session.untilFinal();
    const operation = await session.call('act');
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(await session.status()).toMatchObject({ status: 'completed', closed: false });
    gate.open();
    expect(await session.outcomeOf(operation)).toMatchObject({ success: true });
    await session.until('root', ({ closed }) => closed);
    const end = (await session.eventsOf('tool.end'))[0]?.at ?? '';
    const given = (await session.eventsOf('warning')).at(-1);
    expect(given).toMatchObject({ text: expect.stringContaining('agents.max_runtime_ms') });
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'ok' });
    expect(Date.parse(given?.at ?? '') - Date.parse(end)).toBeGreaterThanOrEqual(2_900);
  });

  test('takes a role as it is then, not as it was the last time', async () => {
    const roles: Record<string, Partial<AgentSettings>> = { poet: { model: 'one' } };
    const session = await worker().start({ roles, script: () => say('ok') });
    await session.untilFinal();
    const poet = { message: 'x', agent_type: 'poet' };
    await session.outcomeOf(await session.call('spawn_agent', poet));
    roles.poet = { model: 'another' };
    await session.outcomeOf(await session.call('spawn_agent', poet));
    const models = await Promise.all(
      ['poet-1', 'poet-2'].map(async (name) => (await session.status(name)).model),
    );
    expect(models).toEqual(['one', 'another']);
  });
});
