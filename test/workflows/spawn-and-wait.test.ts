import { describe, expect, test } from 'vitest';
import type { AgentView, Report } from '../../protocol/index.ts';
import type { AgentCarry } from '../../workflows/carry.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import {
  call,
  heard,
  type Line,
  lastOutput,
  lines,
  never,
  outputs,
  say,
  spawn,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const IDS = ['default-1', 'default-2', 'nobody'];

describe.concurrent('an agent', () => {
  test('spawns three others, waits for all, closes them and answers', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({
        root: [
          spawn('one', 'two', 'three'),
          waitForAll,
          ({ items }) => ({
            calls: Object.keys(lastOutput(items, 'wait').status).map((id) => ({
              name: 'close_agent',
              args: { id },
            })),
          }),
          say('all done'),
        ],
        '*': [({ items }) => say(`report on ${heard(items)[0]}`)],
      }),
    });
    const ids = ['default-1', 'default-2', 'default-3'].map((name) => session.idOf(name));
    const result = await session.result();
    expect(result).toMatchObject({
      status: 'completed',
      output: 'all done',
      usage: { total_tokens: 7 * 15 },
      closed: [session.id],
    });
    const items = await session.items();
    expect(outputs(items, 'spawn_agent')).toEqual(ids.map((agent_id) => ({ agent_id })));
    expect(outputs(items, 'wait')).toEqual([
      {
        status: {
          [ids[0] as string]: { completed: 'report on one' },
          [ids[1] as string]: { completed: 'report on two' },
          [ids[2] as string]: { completed: 'report on three' },
        },
        timed_out: false,
      },
    ]);
    expect(outputs(items, 'close_agent')).toEqual(
      ['one', 'two', 'three'].map((task, index) => ({
        status: { completed: `report on ${task}` },
        closed: [ids[index]],
      })),
    );
    expect((await session.tree()).agents).toMatchObject([
      { agent_id: session.id, status: 'completed', closed: true, children: ids },
      ...ids.map((agent_id) => ({
        agent_id,
        parent_id: session.id,
        status: 'shutdown',
        closed: true,
        depth: 1,
        note: 'agent_type=default; agent_description=plays default',
      })),
    ]);
  });

  test('that is spawned sees its task alone and knows its place', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { message: 'dig here', agent_type: 'explorer', thread_note: ' north ' }),
          say('ok'),
        ],
        'explorer-1': [say('dug')],
      }),
    });
    const view = await session.untilFinal('explorer-1');
    expect(view).toMatchObject({
      role: 'explorer',
      depth: 1,
      parent_id: session.id,
      note: 'north',
      task: 'dig here',
      source: { kind: 'sub_agent', parent_id: session.id, depth: 1 },
    });
    expect(await session.items('explorer-1')).toEqual([
      { type: 'user_message', content: [{ type: 'text', text: 'dig here' }], from: session.id },
      { type: 'assistant_message', text: 'dug' },
    ]);
    const [begin] = await session.eventsOf('agent.spawn.begin');
    const [end] = await session.eventsOf('agent.spawn.end');
    expect(begin).toMatchObject({ sender_id: session.id, prompt: 'dig here' });
    expect(end).toMatchObject({
      call_id: begin?.call_id,
      sender_id: session.id,
      receiver_id: session.idOf('explorer-1'),
      prompt: 'dig here',
      status: expect.toBeOneOf(['pending_init', 'running']),
      effective: { role: 'explorer' },
    });
    expect(end).not.toHaveProperty('error');
  });

  test('asks the model and the effort that the call names, else those of its role', async () => {
    const session = await worker().start({
      roles: { deep: { model: 'of-role', reasoning_effort: 'high' } },
      script: lines({
        root: [
          {
            calls: [{}, { model: 'of-call', reasoning_effort: 'low' }].map((chosen) => ({
              name: 'spawn_agent',
              args: { message: 'x', agent_type: 'deep', ...chosen },
            })),
          },
          waitForAll,
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    // Which of the two gets which number depends on whose role was read first.
    const ids: string[] = spawned(await session.items());
    const [byRole = '', byCall = ''] = ids.map((id) => id.slice(session.id.length + 1));
    const ofRole = { model: 'of-role', reasoning_effort: 'high' };
    const ofCall = { model: 'of-call', reasoning_effort: 'low' };
    expect(session.asked(byRole)[0]?.settings).toMatchObject(ofRole);
    expect(session.asked(byCall)[0]?.settings).toMatchObject(ofCall);
    expect(await session.status(byRole)).toMatchObject(ofRole);
    expect(await session.status(byCall)).toMatchObject(ofCall);
  });

  test('gets items as its task, and items as input, as they are', async () => {
    const [task, more] = [[{ type: 'text', text: 'part' }], [{ type: 'text', text: 'other part' }]];
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { items: task }),
          waitForAll,
          call('send_input', { id: 'default-1', items: more }),
          say('ok'),
        ],
        'default-1': [say('one'), say('two')],
      }),
    });
    await session.untilFinal();
    await session.untilFinal('default-1', 2);
    const told = (await session.items('default-1')).filter((item) => item.type === 'user_message');
    expect(told.map(({ content }) => content)).toEqual([task, more]);
    expect(lastOutput(await session.items(), 'send_input')).toEqual({
      submission_id: expect.stringMatching(/./),
    });
  });

  test('is not spawned in a role that does not exist', async () => {
    const session = await worker().start({
      script: lines({ root: [call('spawn_agent', { message: 'x', agent_type: 'nobody' }), say('then not')] }),
    });
    await session.untilFinal();
    const { error } = lastOutput(await session.items(), 'spawn_agent');
    expect(error.code).toBe('unknown_role');
    expect(await session.tree()).toMatchObject({ agents: [{ children: [] }], slots: { used: 0, max: 12 } });
    const [begin] = await session.eventsOf('agent.spawn.begin');
    const [end] = await session.eventsOf('agent.spawn.end');
    expect(end).toMatchObject({
      call_id: begin?.call_id,
      prompt: 'x',
      status: 'not_found',
      error: error.message,
    });
    expect(end).not.toHaveProperty('receiver_id');
  });

  test('is in the answer of a wait for any with every other one that is final by then', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('one', 'two', 'three'),
          async () => {
            await session.untilFinal('default-1');
            await session.untilFinal('default-2');
            return wait(['default-1', 'default-2', 'default-3']);
          },
          say('ok'),
        ],
        'default-1': [say('one')],
        'default-2': [say('two')],
        'default-3': [() => session.untilFinal().then(() => say('three'))],
      }),
    });
    await session.untilFinal();
    const status = {
      [session.idOf('default-1')]: { completed: 'one' },
      [session.idOf('default-2')]: { completed: 'two' },
    };
    expect(lastOutput(await session.items(), 'wait')).toEqual({ status, timed_out: false });
    const [begin] = await session.eventsOf('agent.wait.begin');
    expect(begin?.sender_id).toBe(session.id);
    expect(await session.eventsOf('agent.wait.end')).toMatchObject([
      { call_id: begin?.call_id, statuses: status, timed_out: false },
    ]);
  });

  test('whose role has an odd name gets an id that can be written, and that no other agent has', async () => {
    const roles = ['Prüf er', 'Prüf-er', '_', 'x'.repeat(100)];
    const session = await worker().start({
      script: lines({
        root: [
          { calls: roles.map((agent_type) => ({ name: 'spawn_agent', args: { message: 'x', agent_type } })) },
          waitForAll,
          say('ok'),
        ],
        '*': [say('here')],
      }),
    });
    await session.untilFinal();
    const ids = outputs(await session.items(), 'spawn_agent').map(({ agent_id }) => agent_id.split('/')[1]);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
    const { status } = lastOutput(await session.items(), 'wait');
    expect(Object.values(status)).toEqual(roles.map(() => ({ completed: 'here' })));
  });

  test('goes three levels deep by default and no deeper, and each knows its depth and its parent', async () => {
    const session = await worker().start({
      script: lines({
        '*': [
          spawn('deeper'),
          (seen) => (spawned(seen.items).length > 0 ? waitForAll(seen) : say('alone then')),
          say('ok'),
        ],
      }),
    });
    await session.untilFinal();
    const path = ['root', 'default-1', 'default-1/default-1', 'default-1/default-1/default-1'];
    const { agents } = await session.tree();
    expect(agents.map(({ agent_id, depth }) => [agent_id, depth])).toEqual(
      path.map((name, depth) => [session.idOf(name), depth]),
    );
    for (const [depth, name] of path.entries()) {
      const parent_id = session.idOf(path[depth - 1] ?? 'root');
      const source = depth === 0 ? { kind: 'api' } : { kind: 'sub_agent', parent_id, depth };
      expect(await session.status(name)).toMatchObject({ status: 'completed', depth, source });
    }
    const deepest = await session.items(path[3]);
    expect(lastOutput(deepest, 'spawn_agent')).toEqual({
      error: {
        code: 'limit_depth',
        message: 'Agent depth limit reached. Solve the task yourself.',
        hint: 'agents.max_depth is 3',
      },
    });
  });

  test('at the depth limit spawns no more', async () => {
    const session = await worker().start({
      limits: { max_depth: 1 },
      script: lines({
        root: [spawn('deep'), waitForAll, say('ok')],
        'default-1': [spawn('deeper'), say('alone then')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items('default-1'), 'spawn_agent')).toEqual({
      error: {
        code: 'limit_depth',
        message: 'Agent depth limit reached. Solve the task yourself.',
        hint: 'agents.max_depth is 1',
      },
    });
    expect((await session.tree()).agents).toHaveLength(2);
  });
});

describe.concurrent('a wait', () => {
  test('for any returns the first final agent and leaves the others running', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          spawn('slow', 'fast'),
          ({ items }) => wait(outputs(items, 'spawn_agent').map(({ agent_id }) => agent_id)),
          say('one is enough'),
        ],
        'default-1': [() => gate.opened.then(() => say('at last'))],
        'default-2': [say('quick')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait')).toEqual({
      status: { [session.idOf('default-2')]: { completed: 'quick' } },
      timed_out: false,
    });
    expect(await session.status('default-1')).toMatchObject({ status: 'running', waiting_for: 'model' });
    gate.open();
    await session.untilFinal('default-1');
  });

  test('ends for whatever final status an agent comes to meanwhile', async () => {
    const [answers, fails] = [new Gate(), new Gate()];
    const session = await worker().start({
      script: lines({
        root: [spawn('answers', 'fails', 'is stopped', 'is closed'), waitForAll, say('ok')],
        'default-1': [() => answers.opened.then(() => say('done'))],
        'default-2': [
          () => fails.opened.then(() => ({ fail: { code: 'model_refused', message: 'no key' } })),
        ],
        '*': [never],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    const ends: [name: string, status: object | string, end: () => unknown][] = [
      [
        'default-3',
        { interrupted: 'enough' },
        () => session.agent('default-3').signal('interrupt', { reason: 'enough' }),
      ],
      ['default-4', 'shutdown', () => session.agent('default-4').signal('shutdown')],
      ['default-1', { completed: 'done' }, () => answers.open()],
      ['default-2', { errored: 'no key' }, () => fails.open()],
    ];
    for (const [name, , end] of ends) {
      await session.until(name, (view) => view.waiting_for === 'model');
      expect(await session.status()).toMatchObject({ waiting_for: 'agents' });
      await end();
    }
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait')).toEqual({
      status: Object.fromEntries(ends.map(([name, status]) => [session.idOf(name), status])),
      timed_out: false,
    });
  });

  test('shows what the agent waits for', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents' && view.current_tool === 'wait');
    gate.open();
    expect(await session.untilFinal()).not.toHaveProperty('waiting_for');
    const [begin] = await session.eventsOf('agent.wait.begin');
    const [end] = await session.eventsOf('agent.wait.end');
    expect(begin).toMatchObject({ receiver_ids: [session.idOf('default-1')] });
    expect(end).toMatchObject({ call_id: begin?.call_id, timed_out: false });
  });

  test('answers unknown ids at once, without hiding the others', async () => {
    const stranger = 'a0000000000zz/worker-1';
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          wait(['default-1', 'nobody', stranger]),
          wait(['nobody', 'default-1'], { mode: 'all' }),
          wait(['nobody']),
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    const child = { [session.idOf('default-1')]: { completed: 'done' } };
    expect(outputs(await session.items(), 'wait').slice(1)).toEqual([
      { status: { ...child, nobody: 'not_found', [stranger]: 'not_found' }, timed_out: false },
      { status: { ...child, nobody: 'not_found' }, timed_out: false },
      { status: { nobody: 'not_found' }, timed_out: false },
    ]);
  });

  test('for all waits for those that are known, and tells of one that is not', async () => {
    const works = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('works', 'done'), wait(['default-2']), wait(IDS, { mode: 'all' }), say('ok')],
        'default-1': [() => works.opened.then(() => say('at last'))],
        'default-2': [say('done')],
      }),
    });
    await expect
      .poll(() => session.status(), { timeout: 30_000 })
      .toMatchObject({ step: 3, waiting_for: 'agents' });
    works.open();
    await session.untilFinal();
    expect(outputs(await session.items(), 'wait').at(-1)).toEqual({
      status: {
        [session.idOf('default-1')]: { completed: 'at last' },
        [session.idOf('default-2')]: { completed: 'done' },
        nobody: 'not_found',
      },
      timed_out: false,
    });
  });

  test('for itself is refused', async () => {
    const session = await worker().start({
      script: ({ step }) => (step === 0 ? wait([session.id]) : say('of course')),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').error.code).toBe('not_permitted');
  });

  test('is followed by no reports once it is over: at its end, in time, by input, or by an interrupt', async () => {
    const gate = new Gate();
    const waitForOne: Line = ({ turn }) => wait(['default-1'], turn === 1 ? { timeout_ms: 1_000 } : {});
    const waiter: Line[] = [waitForOne, say('in time'), waitForOne, say('by input'), waitForOne];
    const session = await worker().start({
      limits: { wait_min_ms: 1 },
      script: lines({
        root: [spawn('watched', 'waits'), say('ok')],
        'default-1': [() => gate.opened.then(() => say('done'))],
        'default-2': [...waiter, waitForOne, say('at its end')],
      }),
    });
    const watched = async () => {
      const { state } = await session.agent().query<{ state: AgentCarry }>('snapshot');
      return state.tree?.watches;
    };
    const untilWatched = () => eventually(async () => expect(await watched()).toHaveLength(1));
    const untilForgotten = () => eventually(async () => expect(await watched()).toEqual([]));
    await session.untilFinal('default-2');
    expect(lastOutput(await session.items('default-2'), 'wait')).toMatchObject({ timed_out: true });
    await untilForgotten();
    // From here on it waits for long.
    await session.send('long', 'default-2');
    await untilWatched();
    await session.send('more', 'default-2');
    await session.untilFinal('default-2', 2);
    await untilForgotten();
    await session.send('long', 'default-2');
    await untilWatched();
    await session.agent('default-2').signal('interrupt');
    await session.untilFinal('default-2', 3);
    await untilForgotten();
    await session.send('long', 'default-2');
    await untilWatched();
    gate.open();
    expect(await session.untilFinal('default-2', 4)).toMatchObject({ message: 'at its end' });
    await untilForgotten();
  });

  test('learns of an end that comes together with the answer on whom it waits for', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('left', 'right'), waitForAll, say('ok')], '*': [say('done')] }),
    });
    await session.untilFinal();
    const { message, ...left } = await session.status('default-1');
    const report = (view: AgentView, seq: number): Report => ({ view, seq, taken: [] });
    const running = report({ ...left, status: 'running', is_final: false }, 1);
    // One signal: a root that has much to send puts into it all that is for the same agent.
    await session.agent('default-2').signal('_mail', [
      {
        type: 'lookup_answer',
        answer: {
          request_id: 'x',
          found: [{ reference: 'default-1', candidates: [left.agent_id], report: running }],
        },
      },
      { type: 'report', report: report({ ...left, message: 'done' }, 2) },
    ]);
    await eventually(async () =>
      expect(await session.eventsOf('agent.status', 'default-2')).toContainEqual(
        expect.objectContaining({ receiver_id: left.agent_id, status: 'completed' }),
      ),
    );
    expect(message).toBe('done');
  });

  test('reaches an agent that is not a child of the waiting one', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('left', 'right'), waitForAll, say('ok')],
        'default-1': [
          spawn('below left'),
          wait(['default-1/default-1', 'default-2'], { mode: 'all' }),
          say('both'),
        ],
        'default-1/default-1': [say('below')],
        'default-2': [() => gate.opened.then(() => say('right'))],
      }),
    });
    await session.until('default-1', (view) => view.waiting_for === 'agents');
    gate.open();
    await session.untilFinal();
    expect(lastOutput(await session.items('default-1'), 'wait')).toEqual({
      status: {
        [session.idOf('default-1/default-1')]: { completed: 'below' },
        [session.idOf('default-2')]: { completed: 'right' },
      },
      timed_out: false,
    });
    const notices = heard(await session.items('default-1')).filter((text) => text.startsWith('notice'));
    expect(notices).toEqual([]);
  });

  test('of a child for the root ends with the turn of the root', async () => {
    const begun = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), () => begun.opened.then(() => say('done for now'))],
        'default-1': [() => wait([session.id]), say('so it is')],
      }),
    });
    await session.until('default-1', (view) => view.waiting_for === 'agents');
    begun.open();
    await session.untilFinal('default-1');
    expect(lastOutput(await session.items('default-1'), 'wait')).toEqual({
      status: { [session.id]: { completed: 'done for now' } },
      timed_out: false,
    });
  });

  test('ends early when input arrives', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [spawn('slow'), waitForAll, ({ items }) => say(`heard ${heard(items).at(-1)}`)],
        'default-1': [() => gate.opened.then(() => say('done'))],
      }),
    });
    await session.until('root', (view) => view.waiting_for === 'agents');
    await session.send('never mind');
    expect(await session.untilFinal()).toMatchObject({ message: 'heard never mind', turn: 1 });
    expect(lastOutput(await session.items(), 'wait')).toEqual({
      status: {},
      timed_out: false,
      interrupted_by_input: true,
    });
    expect(await session.eventsOf('agent.wait.end')).toMatchObject([{ interrupted_by_input: true }]);
    gate.open();
  });

  test('right after an input does not return the turn before it', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          {
            calls: [
              { name: 'send_input', args: { id: 'default-1', message: 'again' } },
              { name: 'wait', args: { ids: ['default-1'] } },
            ],
          },
          say('ok'),
        ],
        'default-1': [say('first'), say('second')],
      }),
    });
    await session.untilFinal();
    const child = session.idOf('default-1');
    expect(outputs(await session.items(), 'wait').map(({ status }) => status)).toEqual([
      { [child]: { completed: 'first' } },
      { [child]: { completed: 'second' } },
    ]);
  });

  test('after a burst of inputs returns when the last of them was worked on', async () => {
    const inputs = Array.from({ length: 40 }, (_, n) => ({
      name: 'send_input',
      args: { id: 'default-1', message: `input ${n}` },
    }));
    const gate = new Gate();
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          { calls: inputs },
          () => {
            gate.open();
            return wait(['default-1']);
          },
          say('ok'),
        ],
        'default-1': [
          () => gate.opened.then(() => say('first')),
          ({ items }) => say(`${heard(items).length} inputs`),
        ],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: { completed: '41 inputs' },
    });
  });

  test('for an agent that is closed returns at once', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          call('close_agent', { id: 'default-1' }),
          wait(['default-1']),
          say('ok'),
        ],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'wait').status).toEqual({
      [session.idOf('default-1')]: 'shutdown',
    });
  });
});
