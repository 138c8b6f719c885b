import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderWith } from '../support/folders.ts';
import { withRealWorker } from './real-worker.ts';

const exporter = new InMemorySpanExporter();
beforeAll(() => {
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
});
afterAll(() => trace.disable());
const start = withRealWorker();

test('spans go to the tracer provider of the program, and are one trace also with ids of its own', async () => {
  const { root, agent } = await start({
    settings: { working_directory: folderWith({}) },
    cast: {
      root: [
        { calls: [{ name: 'spawn_agent', arguments: { message: 'look' } }] },
        { calls: [{ name: 'wait', arguments: { ids: ['default-1'] } }] },
        { text: 'ok' },
      ],
      'default-1': [{ calls: [{ name: 'list_dir', arguments: { path: '.' } }] }, { text: 'done' }],
    },
  });
  expect(await root.wait()).toMatchObject({ status: 'completed' });
  const finished = () => exporter.getFinishedSpans();
  const ofTurns = () => finished().filter(({ name }) => name === 'invoke_agent default');
  await expect.poll(() => ofTurns().length, { timeout: 30_000 }).toBe(2);
  expect(new Set(finished().map((span) => span.spanContext().traceId)).size).toBe(1);
  const ids = new Set(finished().map((span) => span.attributes['gen_ai.agent.id']));
  expect(ids).toEqual(new Set([root.id, agent('default-1').id]));
  expect(finished().map(({ name }) => name)).toContain('execute_tool list_dir');
  await root.close();
});
