import { describe, expect, test } from 'vitest';
import { Gate } from './gate.ts';
import { ask, end, gated, open, post } from './mailbox-lines.ts';
import { lastOutput, lines, outputs, say } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const ONE = 'default-1';

describe.concurrent('subagent_open', () => {
  test('starts no turn, and answers ids and what the sub-agent has come to be', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open('mind the gap', {
            max_turns: 3,
            sandbox_mode: 'read-only',
            system_prompt: 'You mind.',
            model: 'other',
          }),
          say('ok'),
        ],
      }),
      session: { one_shot: true },
    });
    // It does not keep its session from ending.
    expect(await session.result()).toMatchObject({ status: 'completed', output: 'ok' });
    const id = session.idOf(ONE);
    expect(lastOutput(await session.items(), 'subagent_open')).toEqual({
      subagent_id: id,
      conversation_id: id,
      rollout_path: null,
      description:
        'mind the gap (model other, sandbox read-only, approvals on-request, in /tmp, at most 3 turns)',
    });
    expect(session.asked(ONE)).toEqual([]);
    expect(await session.status(ONE)).toMatchObject({ turn: 0, closed: true });
    const [end] = await session.eventsOf('agent.spawn.end');
    expect(end).toMatchObject({ receiver_id: id, status: 'pending_init', prompt: 'mind the gap' });
  });

  test('takes no slot: as many as one likes are open, and only as many work as may', async () => {
    const gate = new Gate();
    const session = await worker().start({
      limits: { max_threads: 1 },
      script: lines({
        root: [open('a'), open('b'), post('one'), post('two', 1), say('ok')],
        '*': [gated(gate, 'done')],
      }),
    });
    await session.until('root', ({ is_final }) => is_final);
    expect(await session.status('default-2')).toMatchObject({
      status: 'pending_init',
      idle: true,
      closed: false,
    });
    const refused = outputs(await session.items(), 'subagent_reply')[1];
    expect(refused.error).toMatchObject({
      code: 'limit_threads',
      hint: expect.stringContaining('subagent_end'),
    });
    expect((await session.tree()).slots).toEqual({ used: 1, max: 1 });
    gate.open();
    await session.untilFinal(ONE);
  });

  test('where open agents hold slots, takes one until it is ended', async () => {
    const session = await worker().start({
      limits: { max_threads: 1, count: 'open' },
      script: lines({
        root: [open('a'), open('b'), ask('work'), end(), open('c'), ask('work', {}, 1), say('ok')],
        '*': [say('done')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(outputs(items, 'subagent_open').map(({ error }) => error?.code)).toEqual([
      undefined,
      'limit_threads',
      undefined,
    ]);
    expect(outputs(items, 'subagent_reply').map(({ reply }) => reply)).toEqual(['done', 'done']);
  });

  test('too deep, of too many, or of no model answers why, and opens nothing', async () => {
    const session = await worker().start({
      limits: { max_depth: 1, max_agents: 1 },
      script: lines({
        root: [open('a'), open('b'), ask('go deeper'), say('ok')],
        [ONE]: [open('c'), say('told')],
      }),
    });
    await session.untilFinal();
    expect(outputs(await session.items(), 'subagent_open')[1].error).toMatchObject({ code: 'limit_agents' });
    expect(lastOutput(await session.items(ONE), 'subagent_open').error).toMatchObject({
      code: 'limit_depth',
      message: 'Agent depth limit reached. Solve the task yourself.',
    });
    expect((await session.tree()).agents).toHaveLength(2);
  });

  test('in another folder asks a person first', async () => {
    const session = await worker().start({
      session: { non_interactive: false },
      script: lines({ root: [open('a', { cwd: '/place/1' }), say('ok')] }),
    });
    await session.until('root', (view) => view.waiting_for === 'approval');
    const { approvals } = await session.agent().query<{ approvals: { approval_id: string }[] }>('approvals');
    await session.agent().executeUpdate('decide_approval', {
      args: [{ approval_id: approvals[0]?.approval_id, decision: 'approve' }],
    });
    await session.untilFinal();
    expect(await session.status(ONE)).toMatchObject({ working_directory: '/place/1' });
  });

  test('one that gets nothing for so long is closed', async () => {
    const session = await worker().start({
      script: lines({ root: [open('a', { max_runtime_ms: 3_000 }), say('ok')] }),
    });
    await session.untilFinal();
    const view = await session.until(ONE, ({ closed }) => closed);
    expect(view).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('max_runtime_ms'),
      turn: 0,
    });
  });
});
