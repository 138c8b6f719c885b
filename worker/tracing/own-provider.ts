import type { Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { SpanIdGenerator } from './span-ids.ts';

/** What a worker that ends waits for a collector that does not answer. */
const FLUSH_MS = 3_000;

/** Sends spans where OTEL_EXPORTER_OTLP_* says. It is nobody's global provider: what else runs here is not asked. */
export function ownTracer(warn: (line: string) => void): { tracer: Tracer; stop(): Promise<void> } {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'cadre' }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({
    resource,
    idGenerator: new SpanIdGenerator(),
    spanProcessors: [new BatchSpanProcessor({ exporter: tellingExporter(warn) })],
  });
  return {
    tracer: provider.getTracer('cadre'),
    stop: () => within(FLUSH_MS, provider.shutdown()),
  };
}

/** The first failure is told: the SDK itself is silent, and would have as much to say every few seconds. */
function tellingExporter(warn: (line: string) => void): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter();
  const send = exporter.export.bind(exporter);
  let isTold = false;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error !== undefined && !isTold) {
        isTold = true;
        warn(`WARN Spans do not arrive; look at OTEL_EXPORTER_OTLP_ENDPOINT: ${result.error.message}`);
      }
      done(result);
    });
  return exporter;
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}
