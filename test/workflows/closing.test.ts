import { describe, expect, test } from 'vitest';
import type { AgentResult } from '../../protocol/index.ts';
import { deepSession } from './deep-session.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import {
  call,
  lastOutput,
  lines,
  never,
  outputs,
  say,
  spawn,
  spawnAs,
  spawned,
  untilStopped,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const untilOver = (session: ScriptedSession, name: string) =>
  eventually(async () => {
    const { status } = await session.agent(name).describe();
    expect(status.name).toBe('COMPLETED');
  });

describe.concurrent('close_agent', () => {
  // First, since it takes the longest.
  test('of a parent comes to its end though the server does not let it terminate a child', async () => {
    const session = await worker().start({
      endless: true,
      script: lines({
        root: [
          {
            calls: ['deaf', 'default'].map((agent_type) => ({
              name: 'spawn_agent',
              args: { message: 'x', agent_type },
            })),
          },
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    await session.agent().signal('shutdown');
    expect(await session.result()).toMatchObject({
      status: 'shutdown',
      closed: [session.idOf('default-1'), session.id],
    });
    expect((await session.eventsOf('warning')).map(({ text }) => text)).toEqual([
      expect.stringContaining(`agent ${session.idOf('deaf-1')} could not be closed: `),
    ]);
    await session.agent('deaf-1').terminate('the test is over');
  });

  test('closes what it can where the server does not let it terminate one, and says which is left', async () => {
    const session = await worker().start({
      endless: true,
      script: lines({
        root: [
          spawn('x'),
          ({ items }) => wait(spawned(items)),
          call('close_agent', { id: 'default-1' }),
          say('ok'),
        ],
        'default-1': [spawnAs('deaf'), spawn('x'), () => wait(['default-1/default-1']), say('done')],
        'default-1/default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    const deaf = session.idOf('default-1/deaf-1');
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: { completed: 'done' },
      closed: [session.idOf('default-1/default-1'), session.idOf('default-1')],
      not_closed: [
        { agent_id: deaf, error: { code: 'not_permitted', message: 'the server does not permit it' } },
      ],
    });
    expect((await session.eventsOf('warning')).map(({ text }) => text)).toEqual([
      `agent ${deaf} could not be closed: the server does not permit it`,
    ]);
    await session.agent('default-1/deaf-1').terminate('the test is over');
  });

  test('that is interrupted ends within two seconds, and comes to its end all the same', async () => {
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [spawnAs('deaf'), call('close_agent', { id: 'deaf-1' }), say('ok')],
      }),
    });
    await eventually(async () => expect(await session.eventsOf('agent.close.begin')).toHaveLength(1));
    const asked = Date.now();
    await session.agent().signal('interrupt');
    await session.untilFinal();
    // The child is given twenty seconds.
    expect(Date.now() - asked).toBeLessThan(12_000);
    expect(lastOutput(await session.items(), 'close_agent').error).toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining(`The closing of ${session.idOf('deaf-1')} goes on in the background`),
    });
    expect(await session.eventsOf('agent.close.end')).toEqual([]);
    await eventually(async () => expect(await session.eventsOf('agent.close.end')).toHaveLength(1));
    expect((await session.agent('deaf-1').describe()).status.name).toBe('TERMINATED');
    const { agents, slots } = await session.tree();
    expect(agents[1]).toMatchObject({ closed: true });
    expect(slots?.used).toBe(0);
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ status: 'completed', message: 'ok' });
  });

  test('of an agent that does not acknowledge terminates it after twenty seconds', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', agent_type: 'deaf' }),
          call('close_agent', { id: 'deaf-1' }),
          say('ok'),
        ],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: 'running',
      closed: [session.idOf('deaf-1')],
    });
    const end = (await session.eventsOf('tool.end')).find(({ name }) => name === 'close_agent');
    expect(end?.duration_ms).toBeGreaterThanOrEqual(20_000);
    expect((await session.agent('deaf-1').describe()).status.name).toBe('TERMINATED');
    const { agents, slots } = await session.tree();
    expect(agents[1]).toMatchObject({ agent_id: session.idOf('deaf-1'), is_final: true, closed: true });
    expect(slots?.used).toBe(0);
  });

  test('closes leaf first, and answers with the status before and all ids', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('close_agent', { id: 'default-1' }), say('ok')],
        'default-1': [spawn('one', 'two'), waitForAll, say('done')],
        '*': [say('leaf')],
      }),
    });
    await session.untilFinal();
    const { status, closed } = lastOutput(await session.items(), 'close_agent');
    expect(status).toEqual({ completed: 'done' });
    expect(closed).toHaveLength(3);
    expect(new Set(closed.slice(0, 2))).toEqual(
      new Set([session.idOf('default-1/default-1'), session.idOf('default-1/default-2')]),
    );
    expect(closed[2]).toBe(session.idOf('default-1'));
    const closedAt = (name: string) =>
      eventually(async () => {
        const { closeTime } = await session.agent(name).describe();
        if (closeTime === undefined) throw new Error(`the workflow of ${name} runs`);
        return closeTime.getTime();
      });
    const leaves = [await closedAt('default-1/default-1'), await closedAt('default-1/default-2')];
    expect(Math.max(...leaves)).toBeLessThanOrEqual(await closedAt('default-1'));
    expect((await session.tree()).agents.slice(1).map(({ status, closed }) => [status, closed])).toEqual([
      ['shutdown', true],
      ['shutdown', true],
      ['shutdown', true],
    ]);
    const [begin] = await session.eventsOf('agent.close.begin');
    const [end] = await session.eventsOf('agent.close.end');
    expect(begin).toMatchObject({ sender_id: session.id, receiver_id: session.idOf('default-1') });
    expect(end).toMatchObject({ call_id: begin?.call_id, status: { completed: 'done' } });
  });

  test('tells those further down once that they are closed along, and why', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok')],
        'default-1': [spawn('x'), say('ok')],
        'default-1/default-1': [spawn('x'), say('ok')],
        '*': [never],
      }),
    });
    const leaf = 'default-1/default-1/default-1';
    await session.until(leaf, ({ status, step }) => status === 'running' && step === 1);
    await session.agent().signal('shutdown', { reason: 'enough' });
    await untilOver(session, 'root');
    const [event] = await session.eventsOf('turn.interrupted', leaf);
    expect(event?.reason).toMatch(/^its parent closes: .*enough$/);
    expect(event?.reason.match(/its parent closes/g)).toHaveLength(1);
  });

  test('answers with what an agent further down stood at itself', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, call('close_agent', { id: 'default-1/default-1' }), say('ok')],
        'default-1': [spawn('one'), waitForAll, say('done')],
        '*': [say('leaf')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: { completed: 'leaf' },
      closed: [session.idOf('default-1/default-1')],
    });
  });

  test('of a running agent stops its turn and its tools', async () => {
    let cancelled = false;
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          async () => {
            await session.until('default-1', ({ waiting_for }) => waiting_for === 'tool');
            return call('close_agent', { id: 'default-1' });
          },
          say('ok'),
        ],
        'default-1': [call('act')],
      }),
      tools: {
        act: untilStopped(() => {
          cancelled = true;
        }),
      },
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: 'running',
      closed: [session.idOf('default-1')],
    });
    expect(cancelled).toBe(true);
    expect(await session.status('default-1')).toMatchObject({ status: 'shutdown', closed: true });
    expect((await session.tree()).slots?.used).toBe(0);
  });

  test('of a closed agent succeeds and closes nothing', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          { calls: [1, 2].map(() => ({ name: 'close_agent', args: { id: 'default-1' } })) },
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(outputs(await session.items(), 'close_agent')).toEqual([
      { status: { completed: 'done' }, closed: [session.idOf('default-1')] },
      { status: 'shutdown', closed: [] },
    ]);
  });

  test('of an agent that is just closing for another reason answers when it has', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', agent_type: 'lingering' }),
          waitForAll,
          async () => {
            await session.agent('lingering-1').signal('shutdown');
            await session.until('lingering-1', ({ closed }) => closed);
            return call('close_agent', { id: 'lingering-1' });
          },
          say('ok'),
        ],
        'lingering-1': [say('done')],
      }),
    });
    await session.untilFinal();
    const [end] = await session.eventsOf('tool.end').then((events) => events.slice(-1));
    expect(end?.duration_ms).toBeLessThan(10_000);
    expect(lastOutput(await session.items(), 'close_agent').closed).toEqual([session.idOf('lingering-1')]);
    await untilOver(session, 'lingering-1');
  });

  test('of a grandchild works from the root, of anybody who is not below from nobody', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('left', 'right'),
          waitForAll,
          call('close_agent', { id: 'default-1/default-1' }),
          say('ok'),
        ],
        'default-1': [
          spawn('below'),
          waitForAll,
          () => ({
            calls: ['default-2', session.id, 'nobody'].map((id) => ({
              name: 'close_agent',
              args: { id },
            })),
          }),
          say('done'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: { completed: 'done' },
      closed: [session.idOf('default-1/default-1')],
    });
    const errors = outputs(await session.items('default-1'), 'close_agent').map(({ error }) => error.code);
    expect(errors).toEqual(['not_permitted', 'not_permitted', 'agent_not_found']);
    expect((await session.status('default-2')).closed).toBe(false);
    expect(await session.until('default-1', (view) => view.is_final)).toMatchObject({ closed: false });
  });

  test('of itself ends an agent and all below it, for the model never hears the answer', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('one'), waitForAll, say('ok')],
        'default-1': [
          spawn('below'),
          () => call('close_agent', { id: session.idOf('default-1') }),
          say('never said'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(await session.until('default-1', (view) => view.closed)).toMatchObject({ status: 'shutdown' });
    expect(await session.until('default-1/default-1', (view) => view.closed)).toMatchObject({ closed: true });
    const said = (await session.items('default-1')).filter((item) => item.type === 'assistant_message');
    expect(said.map(({ text }) => text)).not.toContain('never said');
    expect(session.asked('default-1')).toHaveLength(2);
  });

  test('of itself, as a client asks for it, answers with the status before and whom it closes, leaf first', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('deep', 'closed', 'alone'),
          waitForAll,
          call('close_agent', { id: 'default-2' }),
          say('ok'),
        ],
        'default-1': [spawn('deeper'), waitForAll, say('done')],
        'default-1/default-1': [spawn('deepest'), waitForAll, say('done')],
        '*': [say('leaf')],
      }),
    });
    await session.untilFinal();
    const closing = async (name: string) => {
      const operation = await session.call('close_agent', { id: session.idOf(name) }, name);
      return JSON.parse((await session.outcomeOf(operation, name)).output);
    };
    expect(await closing('default-3')).toEqual({
      status: { completed: 'leaf' },
      closed: [session.idOf('default-3')],
    });
    await session.until('default-3', (view) => view.closed);
    await eventually(async () =>
      expect((await session.tree()).agents.filter((view) => view.closed)).toHaveLength(2),
    );
    const closed = ['default-1/default-1/default-1', 'default-1/default-1', 'default-1', 'root'].map((name) =>
      session.idOf(name),
    );
    expect(await closing('root')).toEqual({ status: { completed: 'ok' }, closed });
    expect((await session.result()).closed).toEqual(closed);
  });

  test('of an agent that was ended from outside says so', async () => {
    const gone = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          () => gone.opened.then(() => call('close_agent', { id: 'default-1' })),
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal('default-1');
    await session.agent('default-1').terminate('by hand');
    await eventually(async () => expect((await session.tree()).agents[1]?.closed).toBe(true));
    gone.open();
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'close_agent')).toEqual({
      status: { errored: 'ended from outside' },
      closed: [],
    });
    expect((await session.tree()).agents[1]).toMatchObject({ status: 'errored', closed: true });
    expect(await session.eventsOf('agent.status')).toContainEqual(
      expect.objectContaining({ receiver_id: session.idOf('default-1'), status: 'errored', is_final: true }),
    );
  });
});

describe.concurrent('shutdown', () => {
  test('by a signal without any argument closes the agent and all below it', async () => {
    const session = await deepSession(worker());
    await session.agent().signal('shutdown');
    expect(await session.result()).toMatchObject({
      status: 'shutdown',
      output: 'closed by a person',
      closed: ['default-1/default-1', 'default-1', 'root'].map((name) => session.idOf(name)),
    });
    for (const name of ['default-1', 'default-1/default-1']) {
      await untilOver(session, name);
      expect(await session.status(name)).toMatchObject({ status: 'shutdown', closed: true });
    }
    expect((await session.tree()).agents.map(({ status }) => status)).toEqual([
      'shutdown',
      'shutdown',
      'shutdown',
    ]);
  });

  test('by an update answers with the status before, and the last answer stays readable', async () => {
    const session = await worker().start({ script: lines({ root: [say('done')] }) });
    await session.untilFinal();
    const answer = await session
      .agent()
      .executeUpdate('shutdown', { args: [{ reason: 'no longer needed' }] });
    expect(answer).toEqual({ submission_id: expect.any(String), status: 'completed', message: 'done' });
    expect(await session.result()).toMatchObject({
      status: 'shutdown',
      output: 'done',
      closed: [session.id],
    });
    await expect(session.send('too late')).rejects.toThrow();
  });

  test('of one agent leaves its parent and siblings as they are', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('one', 'two'), waitForAll, say('ok')], '*': [say('done')] }),
    });
    await session.untilFinal();
    await session.agent('default-1').signal('shutdown', { reason: 'not this one' });
    await untilOver(session, 'default-1');
    await eventually(async () =>
      expect((await session.tree()).agents.map(({ closed }) => closed)).toEqual([false, true, false]),
    );
  });

  test('by cancelling the workflow of the root closes the whole tree', async () => {
    const session = await deepSession(worker());
    await session.agent().cancel();
    const result = await session.result();
    expect(result).toMatchObject({ status: 'shutdown', output: 'its workflow was cancelled' });
    expect(result.closed).toHaveLength(3);
    for (const name of ['root', 'default-1', 'default-1/default-1']) await untilOver(session, name);
  });

  test('by cancelling the workflows of a whole tree at once closes it as well', async () => {
    const session = await deepSession(worker());
    const names = ['root', 'default-1', 'default-1/default-1'];
    await Promise.all(names.map((name) => session.agent(name).cancel()));
    expect(await session.result()).toMatchObject({ status: 'shutdown' });
    for (const name of names) await untilOver(session, name);
  });

  test('while the agent waits for a slot ends it without a turn', async () => {
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('one', 'two'), say('ok')],
        'default-1': [never],
        'default-2': [say('never')],
      }),
    });
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
    await session.agent('default-2').signal('shutdown');
    await untilOver(session, 'default-2');
    expect(await session.agent('default-2').result()).toMatchObject({
      status: 'shutdown',
      output: 'closed by a person',
    } satisfies Partial<AgentResult>);
    await eventually(async () => expect((await session.tree()).slots).toEqual({ used: 1, max: 1 }));
  });
});

describe.concurrent('an agent whose parent or root is terminated', () => {
  test('shuts itself down when its report finds nobody', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), say('ok')],
        'default-1': [() => gate.opened.then(() => say('for nobody'))],
      }),
    });
    await session.untilFinal();
    await session.agent().terminate('by hand');
    gate.open();
    await untilOver(session, 'default-1');
    expect(await session.status('default-1')).toMatchObject({
      status: 'shutdown',
      message: 'for nobody',
      closed: true,
    });
  });

  test('shuts itself down when nobody can give it a slot', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], 'default-1': [say('done')] }),
    });
    await session.untilFinal();
    await session.agent().terminate('by hand');
    await session.send('still there?', 'default-1');
    await untilOver(session, 'default-1');
    expect(await session.status('default-1')).toMatchObject({ status: 'shutdown', turn: 1 });
  });
});
