import { describe, expect, test } from 'vitest';
import {
  type AgentSettings,
  limitsSchema,
  type RoleRequest,
  SEARCH_ATTRIBUTES,
} from '../../protocol/index.ts';
import { resumeBelow } from './client-requests.ts';
import {
  call,
  type Line,
  lastOutput,
  lines,
  outputs,
  type Say,
  say,
  spawn,
  spawnAs,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const limitsOf = async (session: ScriptedSession, name: string) =>
  (await session.agent(name).query<AgentSettings>('_settings')).limits;
const detailsOf = async (session: ScriptedSession, name: string) =>
  (await session.agent(name).query<{ currentDetails?: string }>('__temporal_workflow_metadata'))
    .currentDetails ?? '';

describe.concurrent('limits in a spawn', () => {
  test('are in force for the new agent and all below it, and none is wider than what is inherited', async () => {
    const inherited = { max_steps: 5, max_turns: 3, max_runtime_ms: 600_000 };
    const bounded: [agent_type: string, bounds: object][] = [
      ['steps', { max_steps: 2 }],
      ['turns', { max_turns: 1 }],
      ['idle', { max_runtime_ms: 2_000 }],
      ['wide', { max_steps: 100_000, max_turns: 100_000, max_runtime_ms: 100_000_000 }],
    ];
    const work: Line = ({ final }): Say => (final ? say('half of it') : call('look'));
    const session = await worker().start({
      limits: inherited,
      tools: { look: () => 'seen' },
      script: lines({
        root: [
          {
            calls: bounded.map(([agent_type, bounds]) => ({
              name: 'spawn_agent',
              args: { message: 'x', agent_type, ...bounds },
            })),
          },
          waitForAll,
          say('ok'),
        ],
        'steps-1': [work, work, work, work, work, work],
        'turns-1': [call('spawn_agent', { message: 'x', max_turns: 9 }), say('once'), say('never said')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();

    expect(await session.status('steps-1')).toMatchObject({
      status: 'errored',
      message: expect.stringMatching(/agents\.max_steps.*half of it/s),
    });
    expect(session.asked('steps-1').map(({ final }) => final)).toEqual([false, false, true]);

    const asked = session.asked('turns-1').length;
    await session.send('again', 'turns-1');
    expect(await session.untilFinal('turns-1', 2)).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('agents.max_turns'),
    });
    expect(session.asked('turns-1')).toHaveLength(asked);

    expect(await session.until('idle-1', ({ closed }) => closed)).toMatchObject({
      status: 'completed',
    });
    expect(await session.eventsOf('warning', 'idle-1')).toMatchObject([
      { text: expect.stringContaining('agents.max_runtime_ms') },
    ]);
    expect(await session.status('wide-1')).toMatchObject({ status: 'completed', closed: false });

    expect(await limitsOf(session, 'wide-1')).toMatchObject(inherited);
    expect(await limitsOf(session, 'steps-1')).toMatchObject({ ...inherited, max_steps: 2 });
    expect(await limitsOf(session, 'idle-1')).toMatchObject({ ...inherited, max_runtime_ms: 2_000 });
    expect(await limitsOf(session, 'turns-1/default-1')).toMatchObject({ ...inherited, max_turns: 1 });
  });
});

describe.concurrent('a persona', () => {
  test('is asked for by its name and shown wherever its agent is, with model, effort and where it comes from', async () => {
    const requests: RoleRequest[] = [];
    const session = await worker().start({
      search_attributes: Object.keys(SEARCH_ATTRIBUTES),
      beforeRole: (request) => requests.push(request),
      roles: {
        tester: { persona: 'quick', model: 'fast', reasoning_effort: 'low' },
        plain: { persona: undefined },
      },
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', agent_type: 'tester', agent_name: 'quick' }),
          waitForAll,
          call('list_active_agents', { scope: 'descendants', include_tree: true }),
          say('ok'),
        ],
        'tester-1': [call('spawn_agent', { message: 'y', agent_type: 'plain' }), waitForAll, say('done')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(requests.map(({ role, persona }) => [role, persona])).toEqual(
      expect.arrayContaining([
        ['tester', 'quick'],
        ['plain', undefined],
      ]),
    );
    const id = session.idOf('tester-1');
    const below = session.idOf('tester-1/plain-1');
    const chosen = { model: 'fast', reasoning_effort: 'low' } as const;
    expect(session.asked('tester-1')[0]?.settings).toMatchObject({ persona: 'quick', ...chosen });
    const shown = {
      role: 'tester',
      persona: 'quick',
      note: 'agent_type=tester; agent_name=quick; agent_description=plays tester',
      source: { kind: 'sub_agent', parent_id: session.id, depth: 1 },
      ...chosen,
    };
    expect(await session.status('tester-1')).toMatchObject(shown);
    const { agents } = await session.tree();
    expect(agents.find(({ agent_id }) => agent_id === id)).toMatchObject(shown);
    expect((await session.eventsOf('agent.spawn.end'))[0]?.effective).toMatchObject({
      role: 'tester',
      persona: 'quick',
      ...chosen,
    });
    expect(lastOutput(await session.items(), 'list_active_agents').agents).toMatchObject([
      { thread_id: id, agent_type: 'tester', agent_name: 'quick', thread_note: shown.note, ...chosen },
      { thread_id: below, agent_type: 'plain', agent_name: null, parent_thread_id: id, depth: 2 },
    ]);

    // Where an agent comes from, as the Web UI shows it.
    expect(await session.status('tester-1/plain-1')).toMatchObject({
      source: { kind: 'sub_agent', parent_id: id, depth: 2 },
    });
    expect((await session.agent('tester-1/plain-1').describe()).searchAttributes).toMatchObject({
      CadreSession: [session.id],
      CadreParent: [id],
      CadreDepth: [2],
    });
    expect(await detailsOf(session, 'root')).toContain('depth 0, started by api');
    const details = await detailsOf(session, 'tester-1');
    expect(details).toContain(`- **Role** tester / quick, depth 1, started by \`${session.id}\``);
    expect(details).toContain('- **Model** fast (low)');
    expect(await detailsOf(session, 'tester-1/plain-1')).toContain(`depth 2, started by \`${id}\``);
  });
});

describe.concurrent('the depth limit', () => {
  test('holds when an agent is resumed that is deeper than whoever resumes it may go, alone or along with another one', async () => {
    const session = await worker().start({
      limits: { max_depth: 1 },
      roles: { far: { limits: limitsSchema.parse({ max_depth: 3 }) } },
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', agent_type: 'far' }),
          waitForAll,
          call('close_agent', { id: 'far-1/default-1' }),
          call('resume_agent', { id: 'far-1/default-1' }),
          call('close_agent', { id: 'far-1' }),
          say('ok'),
        ],
        'far-1': [spawn('a', 'b'), waitForAll, say('done')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const refusal = {
      code: 'limit_depth',
      message: `agent ${session.idOf('far-1/default-1')} is deeper than agents.max_depth (1) allows`,
    };
    expect(lastOutput(await session.items(), 'resume_agent')).toEqual({ error: refusal });
    expect(await session.status('far-1/default-1')).toMatchObject({ status: 'shutdown', closed: true });

    const { success, output } = await resumeBelow(session, 'far-1', true);
    expect(success).toBe(true);
    expect(output.resumed).toEqual([session.idOf('far-1')]);
    expect(output.not_resumed).toMatchObject([
      { agent_id: session.idOf('far-1/default-2'), error: { code: 'limit_depth' } },
    ]);
    expect((await session.agent('far-1/default-2').describe()).status.name).toBe('COMPLETED');
  });
});

describe.concurrent('agents of another session', () => {
  test('are none that a tool reaches: the refusal has a type, and nothing of them changes', async () => {
    const other = await worker().start({
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], '*': [say('done')] }),
    });
    await other.untilFinal();
    const ids = [other.id, other.idOf('default-1')];
    const stateOf = async (name: string) => [await other.status(name), await other.events(name)];
    const before = [await stateOf('root'), await stateOf('default-1')];
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          {
            calls: ids.flatMap((id) => [
              { name: 'send_input', args: { id, message: 'hello', interrupt: true } },
              { name: 'close_agent', args: { id } },
              { name: 'resume_agent', args: { id } },
              { name: 'set_thread_note', args: { id, note: 'mine' } },
            ]),
          },
          wait(ids, { mode: 'all' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    for (const tool of ['send_input', 'close_agent', 'resume_agent', 'set_thread_note']) {
      expect(outputs(items, tool), tool).toEqual(
        ids.map((id) => ({
          error: {
            code: 'agent_not_found',
            message: `there is no agent "${id}" in this session`,
            hint: `Your agents: ${session.idOf('default-1')}`,
          },
        })),
      );
    }
    expect(lastOutput(items, 'wait')).toEqual({
      status: Object.fromEntries(ids.map((id) => [id, 'not_found'])),
      timed_out: false,
    });
    expect([await stateOf('root'), await stateOf('default-1')]).toEqual(before);
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', turn: 1 });
  });
});

describe.concurrent('a wait', () => {
  test('for one agent under several names, and several times, is for that one', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('x'),
          waitForAll,
          () =>
            wait(['default-1', session.idOf('default-1'), 'default-1', 'nobody', 'nobody'], { mode: 'all' }),
          // One that is not a child of whoever waits: by its name alone, by its path, and by its id.
          () => wait(['explorer-1', 'default-1/explorer-1', session.idOf('default-1/explorer-1')]),
          say('ok'),
        ],
        'default-1': [spawnAs('explorer'), waitForAll, say('done')],
        '*': [say('found')],
      }),
    });
    await session.untilFinal();
    expect(outputs(await session.items(), 'wait').slice(1)).toEqual([
      {
        status: { [session.idOf('default-1')]: { completed: 'done' }, nobody: 'not_found' },
        timed_out: false,
      },
      { status: { [session.idOf('default-1/explorer-1')]: { completed: 'found' } }, timed_out: false },
    ]);
    const begins = await session.eventsOf('agent.wait.begin');
    expect(begins.slice(1).map(({ receiver_ids: ids }) => ids)).toEqual([
      [session.idOf('default-1')],
      [session.idOf('default-1/explorer-1')],
    ]);
  });
});
