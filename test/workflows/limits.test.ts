import { describe, expect, test } from 'vitest';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import {
  call,
  heard,
  lastOutput,
  lines,
  outputs,
  say,
  spawn,
  spawnAs,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const ONE_QUEUED = { max_threads: 1, when_full: 'queue' } as const;

const untilListed = (session: ScriptedSession, name: string) =>
  eventually(async () => {
    const { agents } = await session.tree();
    expect(agents.map((agent) => agent.agent_id)).toContain(session.idOf(name));
  });
const untilSlotsUsed = (session: ScriptedSession, used: number) =>
  eventually(async () => expect((await session.tree()).slots?.used).toBe(used));

describe.concurrent('agents.max_threads', () => {
  test('refuses the next agent, naming the holders, and does not count one that has finished', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [
          spawn('one', 'two'),
          ({ items }) => {
            gate.open();
            return wait(spawned(items));
          },
          spawn('three'),
          waitForAll,
          say('ok'),
        ],
        '*': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    const [one, two, three] = outputs(await session.items(), 'spawn_agent');
    expect(one).toEqual({ agent_id: session.idOf('default-1') });
    expect(two.error).toMatchObject({ code: 'limit_threads', retryable: true });
    expect(two.error.message).toContain(session.idOf('default-1'));
    expect(two.error.hint).toContain('wait');
    expect(three).toEqual({ agent_id: session.idOf('default-3') });
    expect((await session.tree()).agents).toHaveLength(3);
  });

  test('counts an agent until it is closed where agents.count is open', async () => {
    const session = await worker().start({
      limits: { max_threads: 1, count: 'open' },
      script: lines({
        root: [
          spawn('one'),
          waitForAll,
          spawn('two'),
          call('close_agent', { id: 'default-1' }),
          spawn('three'),
          ({ items }) => wait(spawned(items).slice(1)),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const [, two, three] = outputs(await session.items(), 'spawn_agent');
    expect(two.error).toMatchObject({
      code: 'limit_threads',
      message: expect.stringContaining(`open and idle: ${session.idOf('default-1')}`),
      hint: expect.stringContaining('close_agent'),
    });
    expect(three).toEqual({ agent_id: session.idOf('default-3') });
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
  });

  test('refuses input for an idle agent, and sends nothing', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [
          spawn('one'),
          waitForAll,
          spawn('two'),
          call('send_input', { id: 'default-1', message: 'more' }),
          say('ok'),
        ],
        'default-1': [say('first')],
        'default-2': [() => gate.opened.then(() => say('second'))],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'send_input').error.code).toBe('limit_threads');
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', turn: 1 });
    gate.open();
  });

  test('lets agents start in order where they may queue', async () => {
    const gates = [new Gate(), new Gate(), new Gate()];
    const started: string[] = [];
    const session = await worker().start({
      limits: ONE_QUEUED,
      script: lines({
        root: [spawn('one', 'two', 'three'), waitForAll, say('ok')],
        '*': [
          async ({ agent }) => {
            started.push(agent);
            await gates[started.length - 1]?.opened;
            return say(`done ${started.length}`);
          },
        ],
      }),
    });
    for (const name of ['default-2', 'default-3']) {
      const view = await session.until(name, ({ waiting_for }) => waiting_for === 'slot');
      expect(view).toMatchObject({ status: 'pending_init', waiting_for: 'slot', is_final: false, turn: 0 });
    }
    const listed = (await session.tree()).agents.map(({ status, queued }) => [status, queued]);
    expect(listed.slice(1)).toEqual([
      ['running', undefined],
      ['pending_init', true],
      ['pending_init', true],
    ]);
    for (const gate of gates) gate.open();
    await session.untilFinal();
    expect(started).toEqual(['default-1', 'default-2', 'default-3']);
    expect((await session.tree()).slots).toEqual({ used: 0, max: 1 });
  });

  test('gives those in line the slot of a turn that has ended, though its agent has more to do', async () => {
    const [first, other] = [new Gate(), new Gate()];
    const session = await worker().start({
      limits: ONE_QUEUED,
      script: lines({
        root: [spawn('one', 'two'), say('ok')],
        'default-1': [
          async ({ turn }) => {
            if (turn === 2) return say('at last');
            await first.opened;
            return { fail: { code: 'model_refused', message: 'no more' } };
          },
        ],
        'default-2': [() => other.opened.then(() => say('done'))],
      }),
    });
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'slot');
    await session.send('more', 'default-1');
    first.open();
    await session.until('default-2', ({ waiting_for }) => waiting_for === 'model');
    const view = await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    expect(view).toMatchObject({ status: 'pending_init', queued: true, is_final: false, turn: 1 });
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
    other.open();
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'at last' });
    await untilSlotsUsed(session, 0);
  });

  test('starves nobody: parents that wait lend their slot to those below', async () => {
    const below = (name: string) => ({ [name]: [spawn('deeper'), waitForAll, say(`done at ${name}`)] });
    const session = await worker().start({
      limits: ONE_QUEUED,
      session: { one_shot: true },
      script: lines({
        ...below('root'),
        ...below('default-1'),
        ...below('default-1/default-1'),
        'default-1/default-1/default-1': [say('at the bottom')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'done at root' });
  });

  test('holds for an agent whose wait is interrupted while another works in its slot', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { ...ONE_QUEUED, interrupt_descendants: false },
      script: lines({
        root: [spawn('one'), say('ok')],
        'default-1': [spawn('deeper'), waitForAll, ({ items }) => say(`heard ${heard(items).at(-1)}`)],
        'default-1/default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.send({ message: 'rather this', interrupt: true }, 'default-1');
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
    gate.open();
    const view = await session.untilFinal('default-1', 2);
    expect(view.message).toMatch(/heard (rather this|notice: agent default)/);
    await untilSlotsUsed(session, 0);
  });

  test('lets an agent start that was granted its slot before its workflow was there', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: ONE_QUEUED,
      session: { one_shot: true },
      script: lines({
        root: [spawn('one'), spawnAs('late'), waitForAll, say('ok')],
        'default-1': [() => gate.opened.then(() => say('done'))],
        'late-1': [say('better late than never')],
      }),
    });
    await untilListed(session, 'late-1');
    gate.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(await session.status('late-1')).toMatchObject({ status: 'completed' });
  });

  test('gives a wait that was timed out what has come while it stood in line for its slot', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { ...ONE_QUEUED, wait_min_ms: 1_000 },
      script: lines({
        root: [spawn('one'), say('ok')],
        'default-1': [spawn('deeper'), ({ items }) => wait(spawned(items), { timeout_ms: 1_000 }), say('ok')],
        'default-1/default-1': [() => gate.opened.then(() => say('at last'))],
      }),
    });
    await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
    await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    gate.open();
    await session.untilFinal('default-1');
    expect(lastOutput(await session.items('default-1'), 'wait')).toEqual({
      status: { [session.idOf('default-1/default-1')]: { completed: 'at last' } },
      timed_out: false,
    });
  });

  test('lets an agent start that stands in line when another one reserves a slot for it', async () => {
    const session = await worker().start({
      limits: ONE_QUEUED,
      script: lines({
        root: [spawnAs('tardy'), waitForAll, spawn('one'), say('ok')],
        'tardy-1': [say('first'), ({ items }) => say(`heard ${heard(items).slice(1).join(', ')}`)],
        'default-1': [call('send_input', { id: 'tardy-1', message: 'from a sibling' }), say('sent')],
      }),
    });
    const asks = async () => expect(await session.eventsOf('agent.input.begin', 'default-1')).toHaveLength(1);
    await eventually(asks);
    await session.send('from a person', 'tardy-1');
    expect(await session.untilFinal('tardy-1', 2)).toMatchObject({
      message: 'heard from a person, from a sibling',
    });
  });

  test('makes input from a person wait for a slot', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [spawn('one'), waitForAll, spawn('two'), say('ok')],
        'default-1': [say('first'), say('second')],
        'default-2': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.untilFinal();
    await session.send('more', 'default-1');
    const view = await session.until('default-1', ({ waiting_for }) => waiting_for === 'slot');
    expect(view).toMatchObject({ status: 'pending_init', is_final: false, waiting_for: 'slot', turn: 1 });
    expect(view).not.toHaveProperty('message');
    gate.open();
    expect(await session.untilFinal('default-1', 2)).toMatchObject({ message: 'second' });
  });
});

describe.concurrent('a slot', () => {
  test('is free again when the agent that spawns is closed before the answer comes', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one'),
          async () => {
            await session.until(
              'default-1',
              ({ waiting_for, step }) => step === 1 && waiting_for === undefined,
            );
            await new Promise((resolve) => setTimeout(resolve, 300));
            return call('close_agent', { id: 'default-1' });
          },
          say('ok'),
        ],
        'default-1': [spawnAs('tardy'), say('never said')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    const { agents, slots } = await session.tree();
    expect(slots?.used).toBe(0);
    expect(agents.filter(({ is_final }) => !is_final)).toEqual([]);
  });

  test('is used for the input all the same when the sender is interrupted before the answer comes', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawnAs('tardy'), waitForAll, spawn('one'), say('ok')],
        'tardy-1': [say('first'), say('second')],
        'default-1': [call('send_input', { id: 'tardy-1', message: 'more' }), say('never said')],
      }),
    });
    const asks = async () => expect(await session.eventsOf('agent.input.begin', 'default-1')).toHaveLength(1);
    await eventually(asks);
    await session.agent('default-1').signal('interrupt');
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'interrupted' });
    expect(await session.untilFinal('tardy-1', 2)).toMatchObject({ message: 'second' });
    await untilSlotsUsed(session, 0);
  });

  test('is free again when the agent that it was taken for is gone', async () => {
    const gone = new Gate();
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one'),
          waitForAll,
          () => gone.opened.then(() => call('send_input', { id: 'default-1', message: 'more' })),
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal('default-1');
    await session.agent('default-1').terminate('by hand');
    gone.open();
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(lastOutput(await session.items(), 'send_input').error).toMatchObject({
      code: 'agent_closed',
      hint: expect.stringContaining('resume_agent'),
    });
    const { agents, slots } = await session.tree();
    expect(slots?.used).toBe(0);
    expect(agents[1]).toMatchObject({ status: 'errored', message: 'ended from outside', closed: true });
  });

  test('is not taken by an agent that could not be started', async () => {
    const session = await worker().start({
      limits: { max_agents: 1 },
      session: { one_shot: true },
      script: lines({
        root: [
          async () => {
            // Somebody has started a workflow under the id that the child would get.
            await worker().client.workflow.start('agent', {
              workflowId: session.idOf('default-1'),
              taskQueue: 'nobody',
            });
            return spawn('one');
          },
          spawn('two'),
          waitForAll,
          say('ok'),
        ],
        'default-2': [say('done')],
      }),
    });
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    const [one, two] = outputs(await session.items(), 'spawn_agent');
    expect(one.error).toMatchObject({ code: 'internal' });
    expect(two).toEqual({ agent_id: session.idOf('default-2') });
    const { agents, slots } = await session.tree();
    expect(agents.map(({ agent_id }) => agent_id)).toEqual([session.id, session.idOf('default-2')]);
    expect(slots?.used).toBe(0);
    await session.agent('default-1').terminate('done with it');
  });
});

describe.concurrent('agents.max_agents', () => {
  test('bounds how many agents a session may ever spawn, at any depth', async () => {
    const session = await worker().start({
      limits: { max_agents: 2 },
      script: lines({
        root: [spawn('one'), waitForAll, call('close_agent', { id: 'default-1' }), spawn('three'), say('ok')],
        'default-1': [spawn('two'), waitForAll, say('done')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const { error } = lastOutput(await session.items(), 'spawn_agent');
    expect(error).toMatchObject({ code: 'limit_agents', retryable: false });
    expect(error.message).toContain('agents.max_agents');
    expect((await session.tree()).agents).toHaveLength(3);
  });
});

test('agents.max_turns: an input beyond it meets no model, and the agent is errored', async () => {
  const session = await worker().start({ limits: { max_turns: 1 }, script: () => say('once') });
  await session.untilFinal();
  await session.send('again');
  const view = await session.untilFinal('root', 2);
  expect(view).toMatchObject({ status: 'errored', message: expect.stringContaining('agents.max_turns') });
  expect(session.asked()).toHaveLength(1);
  expect((await session.items()).at(-1)).toMatchObject({ type: 'user_message' });
});
