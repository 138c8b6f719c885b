import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentEvent, AgentView, Item } from '../../protocol/index.ts';
import { findProgram } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import { CadreHome, type Running, SCRIPTS } from './cadre-home.ts';

const run = promisify(execFile);
const home = new CadreHome();
let temporal = '';

beforeAll(async () => {
  mkdirSync(home.folder, { recursive: true });
  temporal = (await findProgram({ cacheDir: cacheDir() })).path;
});
afterAll(() => home.remove());

/** A session that is at work until `stop` is called. */
async function listening(name: string): Promise<{ id: string; running: Running; stop(): void }> {
  const cwd = home.newFolder(name);
  const script = `model_providers.script.script="${join(SCRIPTS, 'listen.yaml')}"`;
  const running = home.start(['run', 'listen', '-c', 'model_provider=script', '-c', script], { cwd });
  const [, id = ''] = await running.says(/session (a\w{12})/);
  await running.says(/shell · /);
  return { id, running, stop: () => writeFileSync(join(cwd, 'stop'), '') };
}

const address = (): string => JSON.parse(readFileSync(join(home.home, 'server.json'), 'utf8')).address;

async function workflow(...args: string[]): Promise<string> {
  const { stdout } = await run(temporal, ['workflow', ...args, '--address', address()], { maxBuffer: 1e8 });
  return stdout;
}

/** What Temporal's CLI would not send, but somebody's own client may. */
async function signalRaw(id: string, metadata: Record<string, string>, data: Uint8Array): Promise<void> {
  const connection = await Connection.connect({ address: address() });
  const bytes = Object.entries(metadata).map(([key, value]) => [key, Buffer.from(value)]);
  await connection.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id },
    signalName: 'send_input',
    input: { payloads: [{ metadata: Object.fromEntries(bytes), data }] },
  });
  await connection.close();
}

/** Types of the events in an agent's history. */
async function historyOf(id: string): Promise<string[]> {
  const { events } = JSON.parse(await workflow('show', '-w', id, '-o', 'json'));
  return events.map((event: { eventType: string }) => event.eventType);
}

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64');

/** What somebody's client may send, as arguments of Temporal's own CLI; and why it is rejected. */
const BROKEN: [what: string, args: string[], reason: RegExp][] = [
  ['nothing', [], /expected object|Invalid input/i],
  ['null', ['--input', 'null'], /expected object|Invalid input/i],
  ['a number', ['--input', '42'], /expected object|Invalid input/i],
  ['a list', ['--input', '["hello"]'], /Invalid input/i],
  ['neither message nor items', ['--input', '{}'], /either message or items/],
  [
    'both message and items',
    ['--input', '{"message":"a","items":[{"type":"text","text":"b"}]}'],
    /either message or items/,
  ],
  ['an unknown field', ['--input', '{"message":"hello","mesage":"x"}'], /mesage/],
  ['a message of another type', ['--input', '{"message":7}'], /message/],
  ['a blank message', ['--input', '{"message":"  "}'], /blank/],
  ['a blank string', ['--input', '""'], /blank/],
  ['an item of no known type', ['--input', '{"items":[{"type":"video"}]}'], /items/],
  [
    'a foreign encoding',
    ['--input-meta', 'encoding=binary/encrypted', '--input-base64', '--input', base64('sealed')],
    /binary\/encrypted/,
  ],
  [
    'what claims to be compressed',
    ['--input-meta', 'encoding=binary/zstd', '--input-base64', '--input', base64('not zstd')],
    /binary\/zstd/,
  ],
  [
    'protobuf without a type',
    ['--input-meta', 'encoding=binary/protobuf', '--input-base64', '--input', base64('x')],
    /binary\/protobuf/,
  ],
  [
    'nothing in an encoding',
    ['--input-meta', 'encoding=binary/null', '--input-base64', '--input', base64('x')],
    /./,
  ],
  [
    'bytes',
    ['--input-meta', 'encoding=binary/plain', '--input-base64', '--input', base64('x')],
    /expected object|Invalid input/i,
  ],
];

test('signals that nobody could mean are told in the events, and the session goes on', async () => {
  const { id, running, stop } = await listening('broken');
  for (const [, args] of BROKEN) await workflow('signal', '-w', id, '--name', 'send_input', ...args);
  await workflow('signal', '-w', id, '--name', 'interrupt', '--input', '{"reason": 7}');
  await workflow('signal', '-w', id, '--name', 'shutdown', '--input', '"now"');
  await workflow('signal', '-w', id, '--name', '_mail', '--input', '{"rubbish": true}');
  await workflow('signal', '-w', id, '--name', 'no_such_signal', '--input', '1');
  for (const data of [Buffer.from('{"message": "hel'), Buffer.from([0xff, 0xfe, 0x00, 0x80])]) {
    await signalRaw(id, { encoding: 'json/plain' }, data);
  }
  await signalRaw(id, {}, Buffer.from('"hello"'));
  // Too many arguments are no reason to refuse the first.
  await workflow(
    'signal',
    '-w',
    id,
    '--name',
    'send_input',
    '--input',
    '{"message":"the good one"}',
    '--input',
    '2',
  );
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', id]);
  const rejected = events.flatMap((event) => (event.type === 'input.rejected' ? [event] : []));
  const inputs = rejected.filter(({ signal }) => signal === 'send_input');
  expect(inputs.map(({ reason }) => reason)).toHaveLength(BROKEN.length + 3);
  for (const { reason } of inputs.slice(-3)) expect(reason).toMatch(/could not be decoded/);
  for (const [index, [what, , reason]] of BROKEN.entries())
    expect(inputs[index]?.reason, what).toMatch(reason);
  expect(rejected.map(({ signal }) => signal)).toEqual(expect.arrayContaining(['interrupt', 'shutdown']));
  expect(await home.json<AgentView>(['status', id])).toMatchObject({ status: 'running', closed: false });
  stop();
  const ended = await running.ended;
  expect(ended).toMatchObject({ code: 0, stdout: 'the last I heard: the good one\n' });
  expect(ended.stderr).toContain('send_input was rejected');
  expect(await historyOf(id)).not.toContain('EVENT_TYPE_WORKFLOW_TASK_FAILED');
}, 120_000);

test('bad arguments of queries and updates are answered as errors and change nothing', async () => {
  const { id, running, stop } = await listening('queries');
  const refused = async (...args: string[]): Promise<string> => {
    const failed = await workflow(...args).then(
      (stdout) => expect.fail(`it was not refused: ${stdout}`),
      (error: { stderr: string; stdout: string }) => error.stdout + error.stderr,
    );
    return failed;
  };
  const query = (type: string, input: string) => refused('query', '-w', id, '--type', type, '--input', input);
  expect(await query('items', '{"from": -1}')).toMatch(/from/);
  expect(await query('events', '{"before": 1}')).toMatch(/before/);
  expect(await query('items', '"all"')).toMatch(/object/);
  expect(await query('no_such_query', '1')).toMatch(/no_such_query/);
  const update = (name: string, ...args: string[]) =>
    refused('update', 'execute', '-w', id, '--name', name, ...args);
  expect(await update('send_input', '--input', '{"message": ""}')).toMatch(/blank/);
  expect(await update('set_note', '--input', '{"note": 1}')).toMatch(/note/);
  expect(await update('set_note')).toMatch(/set_note/);
  expect(await update('no_such_update')).toMatch(/no_such_update/);
  stop();
  expect(await running.ended).toMatchObject({ code: 0, stdout: 'the last I heard: listen\n' });
  expect(await historyOf(id)).not.toContain('EVENT_TYPE_WORKFLOW_TASK_FAILED');
}, 120_000);

test('150 signals in a burst all reach the conversation, once each and in order', async () => {
  const { id, running, stop } = await listening('burst');
  const connection = await Connection.connect({ address: address() });
  const handle = new Client({ connection }).workflow.getHandle(id);
  const messages = Array.from({ length: 150 }, (_, index) => `message ${index}`);
  for (const [index, message] of messages.entries()) {
    const signal = { message, id: `burst-${index}` };
    // One after the other, since two at once have no order; a third of them twice, as a client that retries does.
    await handle.signal('send_input', signal);
    if (index % 3 === 0) await handle.signal('send_input', signal);
  }
  await connection.close();
  stop();
  expect(await running.ended).toMatchObject({ code: 0, stdout: 'the last I heard: message 149\n' });
  const { items } = await home.json<{ items: Item[] }>(['items', id]);
  const heard = items.flatMap((item) =>
    item.type === 'user_message' ? item.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
  );
  expect(heard).toEqual(['listen', ...messages]);
  expect(await historyOf(id)).not.toContain('EVENT_TYPE_WORKFLOW_TASK_FAILED');
}, 120_000);
