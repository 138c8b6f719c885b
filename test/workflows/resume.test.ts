import { describe, expect, test } from 'vitest';
import {
  type AgentInput,
  type AgentSettings,
  limitsSchema,
  type SnapshotPage,
} from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import {
  call,
  heard,
  lastOutput,
  lines,
  never,
  outputs,
  say,
  spawn,
  spawnAs,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const eventuallyEnded = (session: ScriptedSession, name: string) =>
  eventually(async () => {
    const { status } = await session.agent(name).describe();
    expect(status.name).not.toBe('RUNNING');
  });

/** What `cadre resume` does for a root. */
async function resumeRoot(session: ScriptedSession): Promise<void> {
  const { runId } = await session.agent().describe();
  const page = await session.agent().query<SnapshotPage>('snapshot');
  const { identity, settings, session: shared } = page;
  const input: AgentInput = {
    identity,
    settings,
    ...(shared === undefined ? {} : { session: shared }),
    restore: { kind: 'resume', run_id: runId },
  };
  await worker().client.workflow.start('agent', {
    workflowId: session.id,
    taskQueue: worker().queue,
    args: [input],
  });
  await session.until('root', (view) => !view.closed);
}

async function operate(session: ScriptedSession, request: object) {
  const { operation_id } = await session
    .agent()
    .executeUpdate<{ operation_id: string }, [unknown]>('_operate', { args: [request] });
  return eventually(async () => {
    const outcome = await session
      .agent()
      .query<{ state: string; success: boolean; output: string }, [unknown]>('_outcome', { operation_id });
    expect(outcome.state).toBe('done');
    return { success: outcome.success, output: JSON.parse(outcome.output) };
  });
}

describe.concurrent('resume', () => {
  test('a closed child comes back with its conversation, role, note and depth, and works again', async () => {
    const session = await worker().start({
      roles: { poet: { model: 'another' } },
      script: lines({
        root: [
          spawnAs('poet'),
          waitForAll,
          call('set_thread_note', { id: 'poet-1', note: 'keeps this' }),
          call('close_agent', { id: 'poet-1' }),
          call('resume_agent', { id: 'poet-1' }),
          call('send_input', { id: 'poet-1', message: 'again' }),
          () => wait(['poet-1']),
          say('ok'),
        ],
        'poet-1': [say('first'), say('second')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(lastOutput(items, 'resume_agent')).toEqual({ status: { completed: 'first' } });
    expect(lastOutput(items, 'wait').status).toEqual({ [session.idOf('poet-1')]: { completed: 'second' } });
    const view = await session.status('poet-1');
    expect(view).toMatchObject({ role: 'poet', model: 'another', note: 'keeps this', depth: 1, turn: 2 });
    expect(
      session
        .asked('poet-1')
        .at(-1)
        ?.items.map((item) => item.type),
    ).toEqual(['user_message', 'assistant_message', 'user_message']);
    expect(await session.eventsOf('agent.resume.end')).toMatchObject([
      { receiver_id: session.idOf('poet-1'), status: { completed: 'first' } },
    ]);
  });

  test('what bounded the agent before bounds it again: tools, depth and steps', async () => {
    const session = await worker().start({
      roles: {
        bound: {
          tool_policy: { allow: [['look']], deny: ['act'] },
          limits: limitsSchema.parse({ max_depth: 1, max_steps: 2 }),
          sandbox_mode: 'read-only',
        },
      },
      tools: { look: () => 'seen' },
      script: lines({
        root: [
          spawnAs('bound'),
          waitForAll,
          call('close_agent', { id: 'bound-1' }),
          call('resume_agent', { id: 'bound-1' }),
          call('send_input', { id: 'bound-1', message: 'again' }),
          () => wait(['bound-1']),
          say('ok'),
        ],
        'bound-1': [say('first'), spawn('deeper'), call('look'), say('handed back')],
      }),
    });
    await session.untilFinal();
    const settings = await session.agent('bound-1').query<AgentSettings>('_settings');
    expect(settings).toMatchObject({
      tool_policy: { allow: [['look']], deny: ['act'] },
      sandbox_mode: 'read-only',
      limits: { max_depth: 1, max_steps: 2 },
    });
    expect(lastOutput(await session.items('bound-1'), 'spawn_agent').error.code).toBe('limit_depth');
    expect(await session.status('bound-1')).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('agents.max_steps'),
    });
  });

  test('what is left of its share of the tokens is left to it, also below a resumed root', async () => {
    const session = await worker().start({
      limits: { max_child_tokens: 4 * 15 },
      tools: { look: () => 'seen' },
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [say('first'), say('second'), call('look'), call('look'), call('look')],
      }),
    });
    await session.untilFinal();
    await session.agent('default-1').signal('shutdown');
    await eventuallyEnded(session, 'default-1');
    const back = { operation: 'resume', agent_id: session.idOf('default-1') };
    expect(await operate(session, back)).toMatchObject({ success: true });
    await session.send('more', 'default-1');
    expect(await session.untilFinal('default-1', 2)).toMatchObject({
      status: 'completed',
      message: 'second',
    });
    await session.agent().signal('shutdown');
    await eventuallyEnded(session, 'root');
    await resumeRoot(session);
    expect(await operate(session, back)).toMatchObject({ success: true });
    await session.send('go on', 'default-1');
    const view = await session.untilFinal('default-1', 3);
    expect(view).toMatchObject({ status: 'errored', max_tokens: 4 * 15, usage: { total_tokens: 4 * 15 } });
    expect(view.message).toContain('max_child_tokens');
  });

  test('an open agent is left as it is', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('resume_agent', { id: 'default-1' }), say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'resume_agent')).toEqual({ status: { completed: 'done' } });
    expect(await session.eventsOf('session.started', 'default-1')).toHaveLength(1);
  });

  test('ids are not given out again after a resume', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          say('closed'),
          say('ok'),
        ],
        'default-1': [spawn('a'), waitForAll, say('one'), spawn('b'), say('two')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const resumed = await operate(session, { operation: 'resume', agent_id: session.idOf('default-1') });
    expect(resumed.success).toBe(true);
    await session.send('go on', 'default-1');
    await session.untilFinal('default-1', 2);
    expect(outputs(await session.items('default-1'), 'spawn_agent')).toEqual([
      { agent_id: session.idOf('default-1/default-1') },
      { agent_id: session.idOf('default-1/default-2') },
    ]);
  });

  test('recursive brings back what was closed along, and not what had been closed before', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('parent'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          say('closed'),
          say('ok'),
        ],
        'default-1': [
          spawn('a', 'b'),
          waitForAll,
          call('close_agent', { id: 'default-1/default-1' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { output } = await operate(session, {
      operation: 'resume',
      agent_id: session.idOf('default-1'),
      recursive: true,
    });
    expect(output.resumed).toEqual([session.idOf('default-1'), session.idOf('default-1/default-2')]);
    expect(await session.status('default-1/default-1')).toMatchObject({ closed: true });
    await session.until('default-1/default-2', (view) => !view.closed);
    await eventually(async () => {
      const { agents } = await session.tree();
      expect(agents.filter((agent) => agent.closed).map((agent) => agent.agent_id)).toEqual([
        session.idOf('default-1/default-1'),
      ]);
    });
  });

  test('an agent below a closed one is refused, naming whom to resume first', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('parent'), waitForAll, call('close_agent', { id: 'default-1' }), say('ok')],
        'default-1': [spawn('a'), waitForAll, say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { success, output } = await operate(session, {
      operation: 'resume',
      agent_id: session.idOf('default-1/default-1'),
    });
    expect(success).toBe(false);
    expect(output.error).toMatchObject({
      code: 'agent_not_resumable',
      hint: expect.stringContaining(session.idOf('default-1')),
    });
  });

  test('a one-shot root that has settled comes back, stays open, and settles after another turn', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [say('first'), say('second')] }),
    });
    expect(await session.result()).toMatchObject({ output: 'first' });
    await resumeRoot(session);
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'first', closed: false });
    await session.send('more');
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'second' });
  });

  test('an agent that was terminated in the middle of a call comes back, and its model learns what is unknown', async () => {
    let acted = 0;
    const session = await worker().start({
      tools: {
        act: async () => {
          acted++;
          return never();
        },
      },
      script: lines({ root: [call('act'), say('ok')] }),
    });
    await eventually(async () => expect(acted).toBe(1));
    await session.agent().terminate('by a person');
    await closedFromOutside(session);
    await resumeRoot(session);
    expect(await session.status()).toMatchObject({ status: 'interrupted', closed: false });
    await session.send('what now');
    await session.untilFinal('root', 2);
    const asked = session.asked().at(-1)?.items ?? [];
    expect(lastOutput(asked, 'act').error.code).toBe('outcome_unknown');
    expect(heard(asked)).toEqual(['the task', 'what now']);
    expect(acted).toBe(1);
  });
});

const closedFromOutside = (session: ScriptedSession) => eventuallyEnded(session, 'root');
