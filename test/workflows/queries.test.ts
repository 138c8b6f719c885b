import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type EventsPage,
  type Item,
  type ItemsPage,
  SEARCH_ATTRIBUTES,
  type TreeView,
} from '../../protocol/index.ts';
import { ended } from './client-requests.ts';
import { deepSession } from './deep-session.ts';
import { eventually } from './eventually.ts';
import { call, lines, say, spawn, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

describe.concurrent('queries', () => {
  test('answer on closed agents as well', async () => {
    const session = await worker().start({
      session: { one_shot: true },
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], 'default-1': [say('done')] }),
    });
    await session.result();
    expect(await session.status()).toMatchObject({ status: 'completed', message: 'ok', closed: true });
    expect((await session.tree()).agents).toHaveLength(2);
    expect(await session.items('default-1')).toHaveLength(2);
    expect((await session.events()).at(-1)?.type).toBe('agent.status');
  });

  test('show the whole tree at the root, and elsewhere the agent itself and its children', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('x'), waitForAll, say('ok')],
        'default-1': [spawn('y'), waitForAll, say('done')],
        'default-1/default-1': [say('deep')],
      }),
    });
    await session.untilFinal();
    const tree = await session.tree();
    expect(tree.agents.map(({ agent_id }) => agent_id)).toEqual(
      ['root', 'default-1', 'default-1/default-1'].map((name) => session.idOf(name)),
    );
    expect(tree.slots).toEqual({ used: 0, max: 12 });
    expect(tree).not.toHaveProperty('partial');
    const below = await session.agent('default-1').query<TreeView>('tree');
    expect(below.partial).toBe(true);
    expect(below).not.toHaveProperty('slots');
    // As they show themselves.
    expect(below.agents).toEqual([
      await session.status('default-1'),
      await session.status('default-1/default-1'),
    ]);
    const leaf = await session.agent('default-1/default-1').query<TreeView>('tree');
    expect(leaf).toEqual({ partial: true, agents: [await session.status('default-1/default-1')] });
  });

  test('show a child below the root that works, that was ended from outside, and that was closed', async () => {
    const session = await deepSession(worker());
    const children = async () => (await session.agent('default-1').query<TreeView>('tree')).agents.slice(1);
    const leaf = { agent_id: session.idOf('default-1/default-1'), task: 'deeper', depth: 2 };
    expect(await children()).toMatchObject([{ ...leaf, status: 'running', closed: false }]);
    await session.agent('default-1/default-1').terminate('by a person');
    await eventually(async () =>
      expect(await children()).toMatchObject([
        { ...leaf, status: 'errored', message: 'ended from outside', closed: true, is_final: true },
      ]),
    );
    expect((await children())[0]).not.toHaveProperty('waiting_for');
    await session.agent().signal('shutdown');
    await ended(session);
    expect(await children()).toMatchObject([{ ...leaf, status: 'errored', closed: true }]);
  });

  test('give a long conversation in pages of at most 400 KiB that join to the whole', async () => {
    const output = '漢'.repeat(30_000);
    const session = await worker().start({
      script: ({ step }) => (step < 12 ? call('look') : say('that is a lot')),
      tools: { look: () => output },
    });
    await session.untilFinal();
    const items: Item[] = [];
    const sizes: number[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: ItemsPage = await session.agent().query<ItemsPage, [unknown]>('items', { from });
      expect(page).toMatchObject({ from, total: 38, compacted: 0 });
      sizes.push(Buffer.byteLength(JSON.stringify(page)));
      items.push(...page.items);
      from = page.next;
    }
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(400 * 1024);
    expect(items).toEqual([...(session.asked().at(-1)?.items ?? []), items.at(-1)]);
    const range = await session.agent().query<ItemsPage, [unknown]>('items', { from: 1, to: 3 });
    expect(range.items).toEqual(items.slice(1, 3));
  });

  test('give events from a number on', async () => {
    const session = await worker().start({ script: lines({ root: [say('ok')] }) });
    await session.untilFinal();
    const all = await session.events();
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    const page = await session.agent().query<EventsPage, [unknown]>('events', { after: 3 });
    expect(page).toEqual({ events: all.slice(3), next: all.length });
  });

  test('show nothing of the session settings but at the root', async () => {
    const session = await worker().start({
      session: { environment: { LANG: 'C' } },
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], 'default-1': [say('done')] }),
    });
    await session.untilFinal();
    expect(await session.agent().query('_session')).toMatchObject({ environment: { LANG: 'C' } });
    expect(await session.agent('default-1').query('_session')).toBeNull();
    expect(await session.agent('default-1').query('_settings')).toMatchObject({ role: 'default' });
  });
});

describe.concurrent('a note', () => {
  test('is kept trimmed, shown in status, tree and memo, and cleared by blank text', async () => {
    const session = await worker().start({
      script: lines({ root: [spawn('x'), waitForAll, say('ok')], 'default-1': [say('done')] }),
    });
    await session.untilFinal();
    const child = session.agent('default-1');
    expect(await child.executeUpdate('set_note', { args: [{ note: ' main line ' }] })).toEqual({
      submission_id: expect.any(String),
      thread_note: 'main line',
    });
    expect(await session.status('default-1')).toMatchObject({ note: 'main line' });
    await eventually(async () => expect((await session.tree()).agents[1]?.note).toBe('main line'));
    expect((await child.describe()).memo).toMatchObject({ note: 'main line' });
    expect(await child.executeUpdate('set_note', { args: [{ note: '  ' }] })).toMatchObject({
      thread_note: null,
    });
    expect(await session.status('default-1')).not.toHaveProperty('note');
    const notes = (await session.eventsOf('agent.note', 'default-1')).map(({ note }) => note);
    expect(notes).toEqual(['main line', null]);
  });
});

describe.concurrent('what Temporal shows of an agent', () => {
  test('are its search attributes, kept up to date with its status', async () => {
    const session = await worker().start({
      search_attributes: Object.keys(SEARCH_ATTRIBUTES),
      script: lines({
        root: [call('spawn_agent', { message: 'x', agent_type: 'explorer' }), waitForAll, say('ok')],
        'explorer-1': [say('done')],
      }),
    });
    await session.untilFinal();
    const { searchAttributes } = await session.agent('explorer-1').describe();
    expect(searchAttributes).toMatchObject({
      CadreSession: [session.id],
      CadreParent: [session.id],
      CadreRole: ['explorer'],
      CadreStatus: ['completed'],
      CadreModel: ['scripted'],
      CadreDepth: [1],
    });
  });

  test('are no search attributes where the namespace knows none', async () => {
    const session = await worker().start({ script: lines({ root: [say('ok')] }) });
    await session.untilFinal();
    expect(Object.keys((await session.agent().describe()).searchAttributes)).not.toContain('CadreStatus');
  });

  test('are its task as memo and a page of details', async () => {
    const task = `look at ${randomUUID()}`;
    const session = await worker().start({
      script: lines({ root: [spawn(task), waitForAll, say('ok')], 'default-1': [say('seen')] }),
    });
    await session.untilFinal();
    expect((await session.agent('default-1').describe()).memo).toMatchObject({ task });
    const metadata = await session
      .agent('default-1')
      .query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    expect(metadata.currentDetails).toContain(`**Task** ${task}`);
    expect(metadata.currentDetails).toContain('- **Status** completed');
    expect(metadata.currentDetails).toContain('seen');
  });
});
