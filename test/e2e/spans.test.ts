import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type ReceivedSpan, startSpanReceiver } from '../support/span-receiver.ts';
import { CadreHome } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
let receiver: Awaited<ReturnType<typeof startSpanReceiver>>;
let env: Record<string, string>;
beforeAll(async () => {
  receiver = await startSpanReceiver();
  env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
});
afterAll(async () => {
  await home.remove();
  await receiver.close();
});

/** One root, below which everything else hangs. */
function expectOneTree(received: ReceivedSpan[]): void {
  // The end of a turn is told again where the server asks for a workflow task again.
  const ids = new Map(received.map((span) => [span.spanId, span]));
  const spans = [...ids.values()];
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const roots = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
  expect(roots).toMatchObject([{ name: 'invoke_agent default', parentSpanId: '' }]);
  const explorers = spans.filter(({ name }) => name === 'invoke_agent explorer');
  expect(explorers.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(3).fill(roots[0]?.spanId));
}

test('cadre run sends the spans of its session before it ends, and none where nothing asks for them', async () => {
  const cwd = home.newFolder('local');
  expect((await home.run(['run', 'look'], { cwd })).code).toBe(0);
  expect(receiver.bodies).toEqual([]);
  expect((await home.run(['run', 'look'], { cwd, env })).code).toBe(0);
  expectOneTree(receiver.spans.splice(0));
});

test('a session is one tree of spans whichever of its workers did what', async () => {
  const start = async (name: string) => {
    const worker = home.start(['worker', '--queue', 'team'], { env: { ...env, OTEL_SERVICE_NAME: name } });
    await worker.says(/Working for the queue team/);
    return worker;
  };
  const workers = [await start('one'), await start('two')];
  const cwd = home.newFolder('queued');
  const ended = await home.run(['run', 'look', '--queue', 'team'], { cwd });
  expect(ended.code, ended.stderr).toBe(0);
  for (const { child } of workers) child.kill('SIGTERM');
  for (const worker of workers) expect((await worker.ended).code).toBe(0);
  expectOneTree(receiver.spans);
  for (const { resource } of receiver.spans) expect(['one', 'two']).toContain(resource['service.name']);
});
