import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Rollouts } from '../../rollout/rollouts.ts';
import { eventually } from './eventually.ts';
import { ask, end, open, post } from './mailbox-lines.ts';
import { call, lastOutput, lines, never, outputs, say } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
const ONE = 'default-1';
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'cadre-mail-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

describe.concurrent('the mailbox', () => {
  test('of unknown ids says which there are', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          call('subagent_read', { mail_id: 'mail-9' }),
          open(),
          post('x'),
          call('subagent_read', { mail_id: 'mail-1' }),
          call('subagent_mailbox', { subagent_id: 'nobody' }),
          call('subagent_end', { subagent_id: 'nobody' }),
          say('ok'),
        ],
        '*': [never],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    expect(
      outputs(items, 'subagent_read').map(({ error }) => [error.code, error.retryable === true]),
    ).toEqual([
      ['mail_not_found', false],
      ['mail_not_found', true],
    ]);
    expect(lastOutput(items, 'subagent_mailbox').error).toMatchObject({ code: 'agent_not_found' });
    expect(lastOutput(items, 'subagent_end').error).toMatchObject({ code: 'agent_not_found' });
  });

  test('is listed as it is before it is read in the same answer', async () => {
    const session = await worker().start({
      script: lines({
        root: [
          open(),
          post('x'),
          ask('y'),
          {
            calls: [
              { name: 'subagent_mailbox', args: {} },
              { name: 'subagent_read', args: { mail_id: 'mail-1' } },
              { name: 'subagent_mailbox', args: {} },
            ],
          },
          say('ok'),
        ],
        [ONE]: [say('1'), say('2')],
      }),
    });
    await session.untilFinal();
    const boxes = outputs(await session.items(), 'subagent_mailbox');
    expect(boxes.map((box) => box.items.map((mail: { unread: boolean }) => mail.unread))).toEqual([
      [false, true],
      [false, false],
    ]);
  });

  test('a body that is too long for a conversation is cut when it is read, and stored whole', async () => {
    const long = `${'x'.repeat(30_000)}the middle${'y'.repeat(30_000)}`;
    const session = await worker().start({
      limits: { tool_output_limit: 500 },
      script: lines({
        root: [open(), ask('x'), call('subagent_read', { mail_id: 'mail-1' }), say('ok')],
        [ONE]: [say(long)],
      }),
    });
    await session.untilFinal();
    const { body } = lastOutput(await session.items(), 'subagent_read');
    expect(body.length).toBeLessThan(2_000);
    const handle = /stored as h_(\d+)/.exec(body)?.[1];
    expect(session.stored[Number(handle)]).toBe(long);
  });

  test('and what is awaited outlive that the session is closed and resumed', async () => {
    const rollouts = new Rollouts({ stateDir: await mkdtemp(join(home, 'resume-')) });
    const session = await worker().start({
      rollouts,
      session: { rollout: true },
      script: lines({
        root: [open(), post('one'), post('two'), say('ok'), call('subagent_mailbox', {}), say('back')],
        [ONE]: [say('answered'), never],
      }),
    });
    await session.until(ONE, ({ turn }) => turn === 2);
    await session.untilFinal();
    await session.agent().signal('shutdown', {});
    await session.result();
    // What a resume from the rollout would begin with.
    const left = (await rollouts.find(session.id))?.agent(session.id)?.state.mailbox;
    expect(left?.received).toMatchObject([{ mail_id: 'mail-1', body: 'answered' }, { mail_id: 'mail-2' }]);
    const { runId = '' } = { runId: (await session.agent().describe()).runId };
    const {
      identity,
      settings,
      session: shared,
      reports,
    } = await session.agent().query<{
      identity: object;
      settings: object;
      session: object;
      reports: number;
    }>('snapshot');
    await worker().client.workflow.start('agent', {
      workflowId: session.id,
      taskQueue: worker().queue,
      args: [
        {
          identity,
          settings,
          session: shared,
          restore: { kind: 'resume', run_id: runId, reports },
          input: { id: 'again', content: [{ type: 'text', text: 'again' }] },
        },
      ],
    });
    await session.until('root', ({ message }) => message === 'back');
    expect(lastOutput(await session.items(), 'subagent_mailbox').items).toMatchObject([
      { mail_id: 'mail-2', subject: 'No answer to: two', unread: true },
      { mail_id: 'mail-1', subject: 'Answer to: one', unread: true },
    ]);
  });
});

describe.concurrent('subagent_end', () => {
  test('keeps the conversation in a file of its own, each time it is ended', async () => {
    const rollouts = new Rollouts({ stateDir: await mkdtemp(join(home, 'state-')) });
    const session = await worker().start({
      rollouts,
      limits: { max_depth: 2 },
      session: { rollout: true },
      script: lines({
        root: [open('the goal'), ask('x'), end(), end(), say('ok')],
        [ONE]: [open('below'), ask('y'), say('done')],
        '*': [say('below done')],
      }),
    });
    await session.untilFinal();
    const [first, again] = outputs(await session.items(), 'subagent_end');
    expect(first.conversation_id).toBe(session.idOf(ONE));
    // What it finds is what it would write.
    expect(again).toEqual(first);
    const text = readFileSync(first.archived_path, 'utf8').trimEnd().split('\n');
    const [header, ...body] = text.map((line) => JSON.parse(line));
    expect(header).toMatchObject({
      type: 'archive',
      session_id: session.id,
      agent_id: session.idOf(ONE),
    });
    const agents = body.flatMap((line) => (line.type === 'agent' ? [line.identity.agent_id] : []));
    expect(agents).toEqual([session.idOf(ONE), session.idOf(`${ONE}/default-1`)]);
    expect(JSON.stringify(body)).toContain('below done');
    expect(body.at(-1)).toMatchObject({ type: 'end', agents: 2 });
    expect(await session.status(ONE)).toMatchObject({ closed: true, status: 'completed' });
    await rollouts.remove(session.id);
    expect(existsSync(first.archived_path)).toBe(false);
  });

  test('archives where it is told to, in place of nothing, and only where the agent may write', async () => {
    const rollouts = new Rollouts({ stateDir: await mkdtemp(join(home, 'state-')) });
    const folder = await mkdtemp(join(home, 'out-'));
    const file = join(folder, 'kept.jsonl');
    const session = await worker().start({
      rollouts,
      script: lines({
        root: [
          open('a'),
          end({ archive_to: '/etc/kept.jsonl' }),
          end({ archive_to: join(rollouts.stateDir, 'kept.jsonl') }),
          end({ archive_to: join(folder, 'no', 'such') }),
          end({ archive_to: join(folder, 'n'.repeat(300)) }),
          ask('still there?'),
          end({ archive_to: file }),
          open('b'),
          end({ archive_to: file }, 1),
          end({ archive_to: folder }, 1),
          say('ok'),
        ],
        '*': [say('yes')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const ends = outputs(items, 'subagent_end');
    expect(ends.map(({ error }) => error?.code)).toEqual([
      'not_permitted',
      'not_permitted',
      'invalid_arguments',
      'invalid_arguments',
      undefined,
      'rollout_exists',
      undefined,
    ]);
    expect(lastOutput(items, 'subagent_reply')).toMatchObject({ reply: 'yes' });
    expect(ends[4].archived_path).toBe(file);
    expect(readFileSync(file, 'utf8')).toContain('still there?');
    expect(ends[6].archived_path).toBe(join(folder, 'default-2.jsonl'));
  });

  test('archives to a further writable root of its session, too', async () => {
    const rollouts = new Rollouts({ stateDir: await mkdtemp(join(home, 'state-')) });
    // Not below /tmp, which may be written to anyway.
    const folder = await mkdtemp('/var/tmp/cadre-mail-');
    try {
      const session = await worker().start({
        rollouts,
        sandbox: { writable_roots: [folder] },
        script: lines({
          root: [open('a'), end({ archive_to: join(folder, 'kept.jsonl') }), say('ok')],
          '*': [say('yes')],
        }),
      });
      await session.untilFinal();
      expect(lastOutput(await session.items(), 'subagent_end')).toMatchObject({
        archived_path: join(folder, 'kept.jsonl'),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('by hand answers the same, and of a session that leaves nothing archives nothing', async () => {
    const session = await worker().start({ script: lines({ root: [open(), say('ok')] }) });
    await session.untilFinal();
    const outcome = await session.outcomeOf(await session.call('subagent_end', { subagent_id: ONE }));
    expect(JSON.parse(outcome.output)).toEqual({ conversation_id: session.idOf(ONE), archived_path: null });
    await eventually(async () => expect((await session.status(ONE)).closed).toBe(true));
  });
});
