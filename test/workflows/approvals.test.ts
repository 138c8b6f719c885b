import { describe, expect, test } from 'vitest';
import type { Approval, ApprovalNeed, ApprovalsView, Decision } from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import {
  call,
  lastOutput,
  lines,
  never,
  outputs,
  type ScriptedTool,
  say,
  spawn,
  spawned,
  wait,
  waitForAll,
} from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const need: ApprovalNeed = {
  kind: 'command',
  summary: 'rm -r build',
  reason: 'the approval policy is untrusted',
  key: 'rm -r build',
};
/** Does its work only when a person has allowed it; counts how often it did. */
function guarded(): { act: ScriptedTool; done(): number } {
  let done = 0;
  return {
    act: ({ approved }) => {
      if (!approved) return { output: '', success: false, needs_approval: need };
      done++;
      return 'done';
    },
    done: () => done,
  };
}

const approvals = async (session: ScriptedSession, name = 'root'): Promise<Approval[]> =>
  (await session.agent(name).query<ApprovalsView>('approvals')).approvals;
const untilAsked = (session: ScriptedSession, count = 1): Promise<Approval[]> =>
  eventually(async () => {
    const asked = await approvals(session);
    expect(asked).toHaveLength(count);
    return asked;
  });
const decide = (session: ScriptedSession, id: string, decision: Decision, reason?: string) =>
  session
    .agent()
    .executeUpdate('decide_approval', { args: [{ approval_id: id, decision, ...(reason && { reason }) }] });

describe.concurrent('approvals', () => {
  test('a question of a grandchild is found at the root, with who asks and what', async () => {
    const { act, done } = guarded();
    const session = await worker().start({
      tools: { act },
      script: lines({
        root: [spawn('child'), waitForAll, say('ok')],
        'default-1': [spawn('grandchild'), waitForAll, say('ok')],
        'default-1/default-1': [call('act'), say('ok')],
      }),
    });
    const [asked] = await untilAsked(session);
    expect(asked).toMatchObject({
      ...need,
      asking_id: session.idOf('default-1/default-1'),
      approval_id: `${session.idOf('default-1/default-1')}#p1`,
    });
    expect(await session.status('default-1/default-1')).toMatchObject({ waiting_for: 'approval' });
    expect(await approvals(session, 'default-1/default-1')).toHaveLength(1);
    expect(await approvals(session, 'default-1')).toEqual([]);
    expect(done()).toBe(0);
    expect(await decide(session, asked?.approval_id ?? '', 'approve')).toMatchObject({
      asking_id: session.idOf('default-1/default-1'),
      tool: 'act',
      summary: 'rm -r build',
      scope: 'once',
      answers_too: [],
    });
    await session.untilFinal();
    expect(done()).toBe(1);
    expect(await approvals(session)).toEqual([]);
    const shown = {
      approval_id: asked?.approval_id,
      asking_id: session.idOf('default-1/default-1'),
      role: 'default',
      kind: 'command',
      tool: 'act',
      summary: 'rm -r build',
    };
    for (const name of ['root', 'default-1/default-1']) {
      expect(await session.eventsOf('approval.requested', name)).toMatchObject([shown]);
      expect(await session.eventsOf('approval.decided', name)).toMatchObject([
        { ...shown, decision: 'approve', scope: 'once' },
      ]);
    }
  });

  test('a denial is told to the model with its reason, and nothing was done', async () => {
    const { act, done } = guarded();
    const session = await worker().start({
      tools: { act },
      script: lines({ root: [call('act'), say('ok')] }),
    });
    const [asked] = await untilAsked(session);
    const denial = await decide(session, asked?.approval_id ?? '', 'deny', 'not on Fridays');
    expect(denial).toMatchObject({ summary: 'rm -r build', decision: 'deny', reason: 'not on Fridays' });
    expect(denial).not.toHaveProperty('scope');
    await session.untilFinal();
    expect(lastOutput(await session.items(), 'act').error).toMatchObject({
      code: 'approval_denied',
      message: expect.stringContaining('not on Fridays'),
    });
    expect(done()).toBe(0);
  });

  test('allowed for the session, the same is not asked again, and whoever asks it at the time goes on', async () => {
    const { act, done } = guarded();
    const session = await worker().start({
      tools: { act },
      script: lines({
        root: [spawn('one', 'two'), waitForAll, call('act'), say('ok')],
        '*': [call('act'), say('ok')],
      }),
    });
    const [asked, other] = await untilAsked(session, 2);
    expect(await decide(session, asked?.approval_id ?? '', 'approve_for_session')).toMatchObject({
      scope: 'session',
      answers_too: [other?.approval_id],
    });
    await session.untilFinal();
    expect(done()).toBe(3);
    // Also of what nobody was asked any more the log says what was allowed.
    expect((await session.eventsOf('approval.decided')).at(-1)).toMatchObject({
      asking_id: session.id,
      summary: 'rm -r build',
      scope: 'session',
      reason: 'allowed for the session before',
    });
  });

  test('abort denies the question and stops the asking turn, and that alone', async () => {
    const { act, done } = guarded();
    const session = await worker().start({
      tools: { act },
      script: lines({ root: [spawn('child'), waitForAll, say('ok')], '*': [call('act'), never] }),
    });
    const [asked] = await untilAsked(session);
    await decide(session, asked?.approval_id ?? '', 'abort', 'wrong tree');
    expect(await session.untilFinal()).toMatchObject({ status: 'completed' });
    expect(await session.status('default-1')).toMatchObject({ status: 'interrupted', message: 'wrong tree' });
    expect(done()).toBe(0);
  });

  test('a question is taken back when its turn is stopped, and can be decided no more', async () => {
    const session = await worker().start({
      tools: { act: guarded().act },
      script: lines({ root: [spawn('child'), waitForAll, say('ok')], '*': [call('act'), never] }),
    });
    const [asked] = await untilAsked(session);
    await session.agent('default-1').signal('interrupt');
    await session.untilFinal('default-1');
    await eventually(async () => expect(await approvals(session)).toEqual([]));
    await expect(decide(session, asked?.approval_id ?? '', 'approve')).rejects.toMatchObject({
      cause: { type: 'approval_not_found' },
    });
  });

  test('who waits for a person lends its slot, so that others work meanwhile', async () => {
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      tools: { act: guarded().act },
      script: lines({
        root: [spawn('asks', 'works'), waitForAll, say('ok')],
        'default-1': [call('act'), say('ok')],
        'default-2': [say('done')],
      }),
    });
    const [asked] = await untilAsked(session);
    await session.untilFinal('default-2');
    expect(await session.status('default-1')).toMatchObject({ waiting_for: 'approval' });
    await decide(session, asked?.approval_id ?? '', 'approve');
    await session.untilFinal();
  });

  test('who stands in line for its slot after the decision waits for that, and no more for a person', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      tools: { act: guarded().act },
      script: lines({
        root: [spawn('asks', 'works'), waitForAll, say('ok')],
        'default-1': [call('act'), say('ok')],
        'default-2': [() => gate.opened.then(() => say('done'))],
      }),
    });
    const [asked] = await untilAsked(session);
    await session.until('default-2', ({ status }) => status === 'running');
    await decide(session, asked?.approval_id ?? '', 'approve');
    await session.until('default-1', (view) => view.queued === true && view.waiting_for === 'slot');
    gate.open();
    expect(await session.untilFinal('default-1')).toMatchObject({ status: 'completed' });
    await session.untilFinal();
  });

  test('two questions of one answer lend the slot once, and both go on', async () => {
    const ask = { name: 'spawn_agent', args: { message: 'x', working_directory: '/elsewhere' } };
    const session = await worker().start({
      limits: { max_threads: 1, when_full: 'queue' },
      script: lines({
        root: [spawn('asks'), waitForAll, say('ok')],
        'default-1': [{ calls: [ask, ask] }, waitForAll, say('both')],
        '*': [say('done')],
      }),
    });
    for (const { approval_id: id } of await untilAsked(session, 2)) await decide(session, id, 'approve');
    await session.untilFinal();
    expect(await session.status('default-1')).toMatchObject({ status: 'completed', message: 'both' });
    expect((await session.tree()).slots?.used).toBe(0);
  });

  test('a decision that names no open question is refused, and costs no event', async () => {
    const session = await worker().start({ script: lines({ root: [say('ok')] }) });
    await session.untilFinal();
    const nothing = decide(session, `${session.id}#p9`, 'approve');
    await expect(nothing).rejects.toMatchObject({ cause: { type: 'approval_not_found' } });
    const wrong = session.agent().executeUpdate('decide_approval', { args: [{ decision: 'maybe' }] });
    await expect(wrong).rejects.toMatchObject({ cause: { type: 'invalid_arguments' } });
  });

  test('another working directory is asked at the turn that spawns; denied, nothing is started', async () => {
    const session = await worker().start({
      roles: { elsewhere: { working_directory: '/elsewhere' } },
      script: lines({
        root: [
          call('spawn_agent', { message: 'x', working_directory: '/elsewhere' }),
          call('spawn_agent', { message: 'x', working_directory: '/elsewhere' }),
          waitForAll,
          say('ok'),
        ],
        '*': [say('done')],
      }),
    });
    const [first] = await untilAsked(session);
    expect(first).toMatchObject({
      kind: 'directory',
      tool: 'spawn_agent',
      asking_id: session.id,
      key: '/elsewhere',
    });
    await decide(session, first?.approval_id ?? '', 'deny');
    const second = await eventually(async () => {
      const [asked] = await approvals(session);
      expect(asked?.approval_id).toBe(`${session.id}#p2`);
      return asked;
    });
    await decide(session, second?.approval_id ?? '', 'approve');
    await session.untilFinal();
    const [denied, started] = outputs(await session.items(), 'spawn_agent');
    expect(denied.error.code).toBe('approval_denied');
    expect(started).toEqual({ agent_id: session.idOf('default-1') });
    expect((await session.tree()).agents).toHaveLength(2);
  });

  test('another working directory, aborted: nothing is started, and the turn that asked is interrupted', async () => {
    const session = await worker().start({
      script: lines({
        root: [call('spawn_agent', { message: 'x', working_directory: '/elsewhere' }), say('never said')],
      }),
    });
    const [asked] = await untilAsked(session);
    await decide(session, asked?.approval_id ?? '', 'abort');
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted', closed: false });
    expect((await session.tree()).agents).toHaveLength(1);
    expect(await session.eventsOf('agent.spawn.end')).toMatchObject([{ status: 'not_found' }]);
    expect(session.asked()).toHaveLength(1);
  });
});

test('two agents for other folders, asked for in one answer while all slots are taken, do not hold up the turn', async () => {
  const [lent, roleRead, finished] = [new Gate(), new Gate(), new Gate()];
  const session = await worker().start({
    limits: { max_threads: 1, when_full: 'queue' },
    beforeRole: ({ working_directory: folder }) => (folder === '/b' ? roleRead.opened : undefined),
    script: lines({
      root: [spawn('asks', 'works'), say('ok')],
      'default-1': [
        {
          calls: ['/a', '/b'].map((working_directory) => ({
            name: 'spawn_agent',
            args: { message: 'x', working_directory },
          })),
        },
        ({ items }) => wait(spawned(items), { mode: 'all' }),
        say('both are there'),
      ],
      'default-2': [
        () => {
          lent.open();
          return finished.opened.then(() => say('done'));
        },
      ],
      '*': [say('done')],
    }),
  });
  const [first] = await untilAsked(session);
  await lent.opened;
  await decide(session, first?.approval_id ?? '', 'approve');
  await session.until('default-1', (view) => view.queued === true);
  roleRead.open();
  const [second] = await untilAsked(session);
  await decide(session, second?.approval_id ?? '', 'approve');
  // What the root sends after it tells that it has arrived.
  await session.call('set_thread_note', { id: 'default-1', note: 'decided' });
  await session.until('default-1', (view) => view.note === 'decided');
  finished.open();
  expect(await session.untilFinal('default-1')).toMatchObject({ message: 'both are there' });
  await eventually(async () => expect((await session.tree()).slots?.used).toBe(0));
});
