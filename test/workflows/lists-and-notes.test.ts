import { describe, expect, test } from 'vitest';
import { call, lastOutput, lines, outputs, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const listAll = call('list_active_agents', { scope: 'all', include_tree: true });

describe.concurrent('list_active_agents', () => {
  test('shows sub-agents with note, status and its age, and the slots; not the root, not the closed', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          spawn('one', 'two'),
          waitForAll,
          call('close_agent', { id: 'default-2' }),
          listAll,
          call('list_active_agents', { include_closed: true }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const [active, all] = outputs(await session.items(), 'list_active_agents');
    expect(active.agents).toEqual([
      {
        thread_id: session.idOf('default-1'),
        thread_name: 'default-1',
        thread_note: expect.stringContaining('agent_type=default'),
        agent_type: 'default',
        agent_name: null,
        status: { completed: 'done' },
        status_duration_sec: expect.any(Number),
        model: 'scripted',
        reasoning_effort: null,
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        parent_thread_id: session.id,
        depth: 1,
      },
    ]);
    expect(active.slots).toEqual({ used: 0, max: 12 });
    expect(all.agents.map((agent: { thread_id: string }) => agent.thread_id)).toEqual([
      session.idOf('default-1'),
      session.idOf('default-2'),
    ]);
    expect(all.agents[0]).not.toHaveProperty('depth');
  });

  test('children are the own ones, descendants all below, all the whole session', async () => {
    const list = (scope: string) => call('list_active_agents', { scope });
    const session = await worker().start({
      script: lines({
        root: [spawn('one', 'two'), waitForAll, list('children'), list('descendants'), say('ok')],
        'default-1': [
          spawn('leaf'),
          waitForAll,
          list('children'),
          list('descendants'),
          list('all'),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const names = async (name: string) =>
      outputs(await session.items(name), 'list_active_agents').map(({ agents }) =>
        agents.map((agent: { thread_id: string }) => agent.thread_id.slice(session.id.length + 1)).sort(),
      );
    expect(await names('root')).toEqual([
      ['default-1', 'default-2'],
      ['default-1', 'default-1/default-1', 'default-2'],
    ]);
    expect(await names('default-1')).toEqual([
      ['default-1/default-1'],
      ['default-1/default-1'],
      ['default-1', 'default-1/default-1', 'default-2'],
    ]);
  });
});

describe.concurrent('set_thread_note', () => {
  test('is trimmed, seen by all, and cleared by blank text', async () => {
    const note = (text: string) => call('set_thread_note', { id: 'default-1', note: text });
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, note('  here  '), listAll, note(' '), say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const [first, second] = outputs(await session.items(), 'set_thread_note');
    expect(first).toMatchObject({ thread_note: 'here', submission_id: expect.any(String) });
    expect(second.thread_note).toBeNull();
    await session.until('default-1', (view) => view.note === undefined);
    expect(await session.eventsOf('agent.note', 'default-1')).toMatchObject([
      { note: 'here' },
      { note: null },
    ]);
  });

  test('that is too long is refused with its length; a spawn with such a note is not, but warns and keeps the usual one', async () => {
    const long = 'y'.repeat(1_001);
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', thread_note: 'first' }),
          waitForAll,
          call('set_thread_note', { id: 'default-1', note: long }),
          call('spawn_agent', { message: 'x', thread_note: long }),
          call('set_thread_note', { id: 'z'.repeat(2_000), note: 'x' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const refusal = {
      error: {
        code: 'invalid_arguments',
        message: 'the note is too long: 1,001 characters, of 1,000 at most',
      },
    };
    const [note, id] = outputs(items, 'set_thread_note');
    expect(note).toMatchObject(refusal);
    expect(lastOutput(items, 'spawn_agent')).toEqual({ agent_id: session.idOf('default-2') });
    expect((await session.status('default-2')).note).toContain('agent_type=default');
    const [warning] = await session.eventsOf('warning');
    expect(warning?.text).toMatch(/default-2 keeps the usual note.*1,001 characters/);
    expect(id.error).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('2,000') });
    expect(id.error.message.length).toBeLessThan(200);
    expect(await session.status('default-1')).toMatchObject({ note: 'first' });
    await expect(
      session.agent('default-1').executeUpdate('set_note', { args: [{ note: long }] }),
    ).rejects.toMatchObject({
      cause: {
        type: 'invalid_arguments',
        message: 'set_note: note: too long: 1,001 characters, of 1,000 at most',
      },
    });
    expect(await session.eventsOf('agent.note', 'default-1')).toEqual([]);
  });

  test('made of a long description ends in a mark', async () => {
    const role = `r${'o'.repeat(1_500)}`;
    const session = await worker().start({
      script: lines({
        root: [call('spawn_agent', { message: 'x', agent_type: role }), say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const [child] = (await session.tree()).agents.slice(1);
    expect(child?.note).toHaveLength(1_000);
    expect(child?.note).toMatch(/^agent_type=ro+…$/);
  });

  test('an agent may set its own and those below it, not a sibling’s', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('one', 'two'), waitForAll, say('ok')],
        'default-1': [
          call('set_thread_note', { id: 'default-2', note: 'x' }),
          call('resume_agent', { id: 'default-2' }),
          call('set_thread_note', { id: 'default-1', note: 'mine' }),
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items('default-1');
    const [foreign, own] = outputs(items, 'set_thread_note');
    expect(foreign.error.code).toBe('not_permitted');
    expect(own.thread_note).toBe('mine');
    expect(lastOutput(items, 'resume_agent').error.code).toBe('not_permitted');
  });
});
