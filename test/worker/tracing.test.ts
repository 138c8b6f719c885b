import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startTracing } from '../../worker/tracing/tracing.ts';
import { folderWith } from '../support/folders.ts';
import { type ReceivedSpan, startSpanReceiver } from '../support/span-receiver.ts';
import { withRealWorker } from './real-worker.ts';

let receiver: Awaited<ReturnType<typeof startSpanReceiver>>;
beforeAll(async () => {
  receiver = await startSpanReceiver();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
});
// Hooks of the end run in the reverse order: the worker has stopped by then.
afterAll(async () => {
  vi.unstubAllEnvs();
  await receiver.close();
});
const start = withRealWorker();

const SECRET = 'what nobody may read';

function named(agent: string, name: string): ReceivedSpan[] {
  return receiver.spans.filter(
    (span) => span.attributes['gen_ai.agent.id'] === agent && span.name.startsWith(name),
  );
}

test('a tree of two agents is one trace: turns below turns, model calls and tools in their turn', async () => {
  const { root, agent } = await start({
    settings: { working_directory: folderWith({ 'a.txt': SECRET }) },
    cast: {
      root: [
        { calls: [{ name: 'spawn_agent', arguments: { message: SECRET } }] },
        { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] },
        { text: SECRET },
      ],
      'default-1': [
        {
          calls: [
            { name: 'read_file', arguments: { path: 'a.txt' } },
            { name: 'read_file', arguments: { path: 'none.txt' } },
          ],
        },
        { text: SECRET },
      ],
    },
  });
  expect(await root.wait()).toMatchObject({ status: 'completed' });
  const child = agent('default-1');
  await expect.poll(() => named(root.id, 'invoke_agent').length, { timeout: 30_000 }).toBe(1);

  const [rootTurn] = named(root.id, 'invoke_agent');
  const [childTurn] = named(child.id, 'invoke_agent');
  const usage = (await child.status()).usage;
  expect(rootTurn).toMatchObject({ parentSpanId: '', status: 0, resource: { 'service.name': 'cadre' } });
  expect(childTurn).toMatchObject({
    name: 'invoke_agent default',
    parentSpanId: rootTurn?.spanId,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'default',
      'gen_ai.request.model': 'test-model',
      'gen_ai.provider.name': 'local',
      'gen_ai.usage.input_tokens': usage.input_tokens,
      'gen_ai.usage.output_tokens': usage.output_tokens,
      'cadre.depth': 1,
      'cadre.turn': 1,
      'cadre.steps': 2,
      'cadre.status': 'completed',
      'cadre.success': true,
    },
  });
  expect(rootTurn?.durationMs).toBeGreaterThanOrEqual(childTurn?.durationMs ?? Number.NaN);

  expect(named(root.id, 'chat').map(({ parentSpanId }) => parentSpanId)).toEqual(
    Array(3).fill(rootTurn?.spanId),
  );
  const calls = named(child.id, 'chat');
  expect(calls).toHaveLength(2);
  // Its settings come with the first call only; the second tells as much.
  for (const [index, call] of calls.entries()) {
    expect(call).toMatchObject({
      name: 'chat test-model',
      parentSpanId: childTurn?.spanId,
      attributes: {
        'gen_ai.request.model': 'test-model',
        'gen_ai.agent.name': 'default',
        'cadre.step': index + 1,
        'cadre.attempt': 1,
        'cadre.tools.called': index === 0 ? 2 : 0,
      },
    });
    expect(call.attributes['cadre.tools.offered']).toBeGreaterThan(3);
  }
  const tools = named(child.id, 'execute_tool read_file');
  expect(tools.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(2).fill(childTurn?.spanId));
  expect(tools.map(({ status }) => status).sort()).toEqual([0, 2]);
  const failed = tools.find(({ status }) => status === 2);
  expect(failed?.attributes).toMatchObject({ 'cadre.success': false, 'gen_ai.tool.name': 'read_file' });
  expect(failed?.attributes['error.type']).toMatch(/^[a-z_]+$/);

  const operations = named(root.id, 'execute_tool');
  expect(operations.map(({ name }) => name)).toEqual(['execute_tool spawn_agent', 'execute_tool wait']);
  for (const [index, operation] of operations.entries()) {
    expect(operation).toMatchObject({
      parentSpanId: rootTurn?.spanId,
      status: 0,
      attributes: { 'gen_ai.agent.name': 'default', 'cadre.step': index + 1, 'cadre.success': true },
    });
  }

  const ours = receiver.spans.filter((span) => span.attributes['gen_ai.conversation.id'] === root.id);
  expect(new Set(ours.map(({ traceId }) => traceId)).size).toBe(1);
  expect(receiver.bodies.join()).not.toContain(SECRET);
  await root.close();
});

test('a turn that fails says so with its code, and so does the model call', async () => {
  const { root } = await start({
    settings: { working_directory: folderWith({}) },
    cast: { root: [{ fault: { kind: 'status', status: 400, message: SECRET } }] },
  });
  const ended = await root.wait();
  expect(ended).toMatchObject({ status: 'errored' });
  await expect.poll(() => named(root.id, 'invoke_agent').length, { timeout: 30_000 }).toBe(1);
  for (const span of [...named(root.id, 'invoke_agent'), ...named(root.id, 'chat')]) {
    expect(span).toMatchObject({ status: 2, attributes: { 'error.type': 'model_refused' } });
  }
  expect(named(root.id, 'chat')).toHaveLength(1);
  expect(receiver.bodies.join()).not.toContain(SECRET);
  await root.close();
});

test('an interrupted turn is told as that, with the operation that it stopped and one that was refused before', async () => {
  const { root } = await start({
    settings: { working_directory: folderWith({}) },
    cast: {
      root: [
        { calls: [{ name: 'spawn_agent', arguments: { message: SECRET, agent_type: 'nobody' } }] },
        { calls: [{ name: 'spawn_agent', arguments: { message: SECRET } }] },
        { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] },
      ],
      'default-1': [{ fault: { kind: 'hang' } }],
    },
  });
  await expect.poll(async () => (await root.status()).waiting_for, { timeout: 30_000 }).toBe('agents');
  await root.interrupt();
  await expect.poll(() => named(root.id, 'invoke_agent').length, { timeout: 30_000 }).toBe(1);
  expect(named(root.id, 'invoke_agent')).toMatchObject([
    { status: 0, attributes: { 'cadre.status': 'interrupted', 'cadre.success': false, 'cadre.steps': 3 } },
  ]);
  expect(named(root.id, 'execute_tool')).toMatchObject([
    { status: 2, attributes: { 'error.type': 'unknown_role' } },
    { status: 0, attributes: { 'cadre.success': true } },
    {
      name: 'execute_tool wait',
      status: 2,
      attributes: { 'cadre.success': false, 'error.type': 'cancelled' },
    },
  ]);
  expect(receiver.bodies.join()).not.toContain(SECRET);
  await root.close();
});

/** The tracing of a worker that has one span to send there when it stops. */
async function tracingTo(server: Server, warn: (line: string) => void) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', variables.OTEL_EXPORTER_OTLP_ENDPOINT);
  const tracing = await startTracing(variables, warn);
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  const turn = {
    agent_id: 'a0k3v9x2m4qd7',
    session_id: 'a0k3v9x2m4qd7',
    role: 'default',
    started: 1,
    ended: 2,
  };
  tracing.options.sinks?.cadre?.turnEnded?.fn({} as never, turn);
  return tracing;
}

test('a worker ends in time where the collector takes everything and answers nothing', async () => {
  const tracing = await tracingTo(createServer(), () => {});
  const begun = performance.now();
  await tracing.stop();
  expect(performance.now() - begun).toBeLessThan(8_000);
});

test('a collector that refuses what it gets is told once', async () => {
  const told: string[] = [];
  const refusing = createHttpServer((_request, response) => response.writeHead(400).end());
  const tracing = await tracingTo(refusing, (line) => told.push(line));
  await tracing.stop();
  expect(told).toEqual([expect.stringContaining('Spans do not arrive')]);
});

const LOADED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ resolve(name, context, next) {
    if (name.startsWith('@opentelemetry/')) loaded.push(name);
    return next(name, context);
  } });
  const { startTracing } = await import('./worker/tracing/tracing.ts');
  await import('./worker/index.ts');
  const tracing = await startTracing(process.env, (line) => console.error(line));
  await tracing.stop();
  console.log(JSON.stringify({ loaded, on: tracing.watcher !== undefined }));`;

async function loadedWith(variables: Record<string, string>) {
  const { PATH } = process.env;
  const args = ['--input-type=module', '-e', LOADED];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    env: { PATH, ...variables },
  });
  return { ...(JSON.parse(stdout) as { loaded: string[]; on: boolean }), stderr };
}

test.each([
  ['nothing is set', {}],
  ['it is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }],
  [
    'there is no exporter',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_EXPORTER: 'none' },
  ],
])('nothing of OpenTelemetry is loaded where %s', async (_what, variables) => {
  expect(await loadedWith(variables)).toMatchObject({ loaded: [], on: false });
});

test('an exporter that is not known is told, and nothing loaded', async () => {
  const { loaded, stderr } = await loadedWith({ OTEL_TRACES_EXPORTER: 'zipkin' });
  expect(loaded).toEqual([]);
  expect(stderr).toContain('OTEL_TRACES_EXPORTER is zipkin');
});

test.each([
  [{ OTEL_TRACES_EXPORTER: 'otlp' }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/v1/traces' }],
])('it is loaded where %o is set', async (variables) => {
  expect(await loadedWith(variables)).toMatchObject({
    on: true,
    loaded: expect.arrayContaining(['@opentelemetry/sdk-trace']),
  });
});
