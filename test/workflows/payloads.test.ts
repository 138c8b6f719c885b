import { randomUUID } from 'node:crypto';
import type { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, type Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { reportOf } from './agent-views.ts';
import { heard, lines, never, say } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const bytes = (text: string) => new TextEncoder().encode(text);
const payloadOf = (data: string, encoding = 'json/plain'): Payload => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});

/** Sends what no client of ours would send. */
async function signalRaw(session: ScriptedSession, signalName: string, payloads?: Payload[]): Promise<void> {
  await worker().client.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: session.id },
    signalName,
    requestId: randomUUID(),
    ...(payloads === undefined ? {} : { input: { payloads } }),
  });
}

const NO_IMAGE = 'is no address of an image that a model takes: https://…, http://… or data:image/…';
const started = () =>
  worker().start({
    script: lines({ root: [({ items }) => say(`heard ${heard(items).length}`), say('two'), say('three')] }),
  });

/** The agent has lived through it, and works. */
async function expectSound(session: ScriptedSession): Promise<void> {
  const { turn } = await session.status();
  await session.send({ message: 'still there?' });
  expect(await session.untilFinal('root', turn + 1)).toMatchObject({ status: 'completed' });
  expect(heard(await session.items()).at(-1)).toBe('still there?');
}

describe.concurrent('a signal send_input', () => {
  test('with a bad payload is recorded as rejected, and the agent goes on', async () => {
    const bad: [payloads: Payload[] | undefined, reason: string][] = [
      [undefined, 'expected object'],
      [[payloadOf('null')], 'expected object'],
      [[payloadOf('7')], 'expected object'],
      [[payloadOf('{"message": ')], 'could not be decoded'],
      [[payloadOf('x', 'binary/encrypted')], 'encoding binary/encrypted'],
      [[payloadOf('x', 'binary/zstd')], 'encoding binary/zstd'],
      [[{ data: bytes('x') }], 'could not be decoded'],
      [[{}], 'could not be decoded'],
      [[payloadOf('{"message": " "}')], 'message is blank'],
      [[payloadOf('"  "')], 'message is blank'],
      [[payloadOf('{}')], 'give either message or items'],
      [[payloadOf('{"message": "x", "urgent": true}')], 'urgent'],
      [[payloadOf('{"items": [{"type": "video"}]}')], 'items.0.type'],
      [[payloadOf('{"items": [{"type": "image", "image_url": "a.png"}]}')], `items.0.image_url: ${NO_IMAGE}`],
      [[payloadOf('{"undecodable": null}')], 'undecodable'],
      [[payloadOf('{"message": "x", "from": "a friend"}')], 'from: expected the id of an agent'],
      [
        [payloadOf('{"message": "x", "from": "a0k3v9x2m4qd7/worker-1"}')],
        'from: expected the id of an agent',
      ],
    ];
    const session = await started();
    await session.untilFinal();
    for (const [payloads] of bad) await signalRaw(session, 'send_input', payloads);
    await expectSound(session);
    expect(await session.eventsOf('input.rejected')).toMatchObject(
      bad.map(([, reason]) => ({ signal: 'send_input', reason: expect.stringContaining(reason) })),
    );
    expect((await session.status()).turn).toBe(2);
  });

  test('with more than one argument counts as its first', async () => {
    const session = await started();
    await session.untilFinal();
    await signalRaw(session, 'send_input', [
      payloadOf('{"message": "one"}'),
      payloadOf('{"message": "two"}'),
    ]);
    await session.untilFinal('root', 2);
    expect(heard(await session.items())).toEqual(['the task', 'one']);
  });
});

describe.concurrent('other signals', () => {
  test('interrupt and shutdown with a bad payload change nothing', async () => {
    const session = await started();
    await session.untilFinal();
    for (const name of ['interrupt', 'shutdown']) {
      await signalRaw(session, name, [payloadOf('{"why": 1}')]);
      await signalRaw(session, name, [payloadOf('{', 'json/plain')]);
    }
    await expectSound(session);
    expect((await session.eventsOf('input.rejected')).map(({ signal }) => signal)).toEqual([
      'interrupt',
      'interrupt',
      'shutdown',
      'shutdown',
    ]);
  });

  test('interrupt and shutdown work without any argument', async () => {
    const session = await worker().start({
      script: ({ turn }) => (turn === 1 ? never() : say('going on')),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await signalRaw(session, 'interrupt');
    expect(await session.untilFinal()).toMatchObject({
      status: 'interrupted',
      message: 'interrupted by a person',
    });
    await signalRaw(session, 'shutdown');
    expect(await session.result()).toMatchObject({ status: 'shutdown' });
  });

  test('that nobody has defined are ignored', async () => {
    const session = await started();
    await session.untilFinal();
    await signalRaw(session, 'no_such_signal', [payloadOf('{')]);
    await expectSound(session);
  });

  test('between agents that no agent can have sent are rejected', async () => {
    const session = await started();
    await session.untilFinal();
    const from = session.idOf('worker-1');
    const mails = [
      null,
      7,
      'report',
      {},
      { type: 'nonsense' },
      { type: 'report' },
      { type: 'report', report: {} },
      { type: 'report', report: { view: { agent_id: from }, seq: 1, taken: [] } },
      {
        type: 'report',
        report: {
          view: {
            agent_id: from,
            session_id: session.id,
            status: 'running',
            is_final: false,
            closed: false,
            turn: 1,
            role: 'x',
          },
          seq: 1,
          taken: [],
        },
      },
      { type: 'slot' },
      { type: 'slot', request: { kind: 'reserve' } },
      { type: 'slot', request: { kind: 'reserve', request_id: 'x', agent_id: 'x', from, queue: true } },
      { type: 'slot_answer' },
      { type: 'slot_answer', answer: { request_id: 'x', outcome: 'refused' } },
      { type: 'lookup', lookup: { request_id: 'x', from: '', references: ['x'], watch: true } },
      // The server takes no id as long as that, and fails the task that asks for one.
      {
        type: 'lookup',
        lookup: { request_id: 'x', from: `${from}${'/x'.repeat(600)}`, references: [], watch: true },
      },
      { type: 'lookup_answer', answer: {} },
      { type: 'close', request: { request_id: 'x', from: null, reason: 'x', keep_status: false } },
      { type: 'acknowledge' },
    ];
    const junk = [null, 7, 'report', {}, { type: 'report' }, ...mails.map((mail) => [mail])];
    for (const payload of junk) await signalRaw(session, '_mail', [payloadOf(JSON.stringify(payload))]);
    await signalRaw(session, '_mail');
    await signalRaw(session, '_mail', [payloadOf('x', 'binary/encrypted')]);
    await expectSound(session);
    const rejected = await session.eventsOf('input.rejected');
    expect(rejected.map(({ signal }) => signal)).toEqual(
      Array.from({ length: junk.length + 2 }, () => '_mail'),
    );
  });

  test('between agents that come from agents nobody knows do no harm', async () => {
    const session = await started();
    await session.untilFinal();
    const stranger = 'a0000000000zz/worker-1';
    const mails = [
      {
        type: 'slot',
        request: { kind: 'reserve', request_id: 'x', agent_id: stranger, from: stranger, queue: false },
      },
      { type: 'slot', request: { kind: 'release', agent_id: stranger, closed: true } },
      { type: 'slot', request: { kind: 'cancel_spawn', agent_id: stranger } },
      {
        type: 'lookup',
        lookup: { request_id: 'x', from: stranger, references: ['x', session.id], watch: true },
      },
      { type: 'slot_answer', answer: { request_id: 'x', outcome: 'granted' } },
      { type: 'acknowledge', acknowledge: { request_id: 'x', done: true, closed: [] } },
      // One that claims to be a child of the root, and to work: nobody would ever hear its end.
      {
        type: 'report',
        report: reportOf(session.idOf('worker-9'), 1, { parent_id: session.id, session_id: session.id }),
      },
    ];
    await signalRaw(session, '_mail', [payloadOf(JSON.stringify(mails))]);
    await expectSound(session);
    expect(await session.eventsOf('input.rejected')).toEqual([]);
    const { agents, slots } = await session.tree();
    expect(slots?.used).toBe(0);
    expect(agents).toHaveLength(1);
    await session.agent().signal('shutdown');
    await session.until('root', (view) => view.closed);
  });
});

describe.concurrent('an update', () => {
  const failureOf = async (update: Promise<unknown>): Promise<ApplicationFailure> => {
    const error = await update.then(
      () => undefined,
      (error: WorkflowUpdateFailedError) => error,
    );
    expect(error?.cause).toBeInstanceOf(ApplicationFailure);
    return error?.cause as ApplicationFailure;
  };

  test('with a bad payload is refused with a clear message, and leaves no trace', async () => {
    const bad: [name: string, payload: unknown, message: string][] = [
      ['send_input', {}, 'send_input: give either message or items'],
      ['send_input', undefined, 'send_input: Invalid input: expected object'],
      ['send_input', { message: 'x', loud: true }, 'loud'],
      [
        'send_input',
        { items: [{ type: 'image', image_url: 'a.png' }] },
        `send_input: items.0.image_url: ${NO_IMAGE}`,
      ],
      ['send_input', { message: 'x', from: 'a friend' }, 'send_input: from: expected the id of an agent'],
      ['interrupt', { reason: 7 }, 'interrupt: reason: '],
      ['shutdown', 'now', 'shutdown: '],
      ['set_note', {}, 'set_note: note: '],
    ];
    const session = await started();
    await session.untilFinal();
    for (const [name, payload, message] of bad) {
      const update = session.agent().executeUpdate<unknown, [unknown]>(name, { args: [payload] });
      const failure = await failureOf(update);
      expect(failure.type).toBe('invalid_arguments');
      expect(failure.message).toContain(message);
    }
    await expectSound(session);
    expect(await session.eventsOf('input.rejected')).toEqual([]);
  });

  test('that cannot be decoded is refused with a clear message', async () => {
    const session = await started();
    await session.untilFinal();
    const { outcome } = await worker().client.workflowService.updateWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: session.id },
      waitPolicy: { lifecycleStage: 3 },
      request: {
        meta: { updateId: randomUUID() },
        input: { name: 'send_input', args: { payloads: [payloadOf('x', 'binary/encrypted')] } },
      },
    });
    expect(outcome?.failure?.message).toContain('encoding binary/encrypted');
    await expectSound(session);
  });
});

describe.concurrent('a query', () => {
  test('with a bad payload says what is wrong', async () => {
    const bad: [name: string, payload: unknown, message: string][] = [
      ['items', { from: -1 }, 'from: '],
      ['items', { page: 1 }, 'page'],
      ['events', 'all', 'expected object'],
      ['events', { after: 'x' }, 'after: '],
    ];
    const session = await started();
    await session.untilFinal();
    for (const [name, payload, message] of bad) {
      await expect(session.agent().query<unknown, [unknown]>(name, payload)).rejects.toThrow(message);
    }
    await expectSound(session);
  });

  test('takes a payload that is left out or null', async () => {
    const session = await started();
    await session.untilFinal();
    const whole = await session.agent().query('items');
    expect(whole).toMatchObject({ total: 2, from: 0 });
    expect(await session.agent().query<unknown, [unknown]>('items', null)).toEqual(whole);
  });
});
