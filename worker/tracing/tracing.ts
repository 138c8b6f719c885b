import type { InjectedSinks, WorkerOptions as SdkWorkerOptions } from '@temporalio/worker';
import type { ActivityWatcher } from '../../activities/index.ts';
import type { TraceSinks } from '../../workflows/trace-sink.ts';

/** Where the spans of a worker go. */
export interface Tracing {
  options: Pick<SdkWorkerOptions, 'sinks' | 'interceptors'>;
  watcher?: ActivityWatcher;
  /** Sends what is left. */
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Spans go to the tracer provider that this process has registered, or else where the standard variables say; without
 * either nothing of OpenTelemetry is loaded.
 */
export async function startTracing(environment: Environment, warn: (line: string) => void): Promise<Tracing> {
  if (!isProvided() && !isAskedFor(environment, warn)) {
    return { options: { sinks: sinksOf({ turnEnded() {}, operationEnded() {} }) }, stop: async () => {} };
  }
  const { tracer, stop } = isProvided()
    ? { tracer: (await import('@opentelemetry/api')).trace.getTracer('cadre'), stop: async () => {} }
    : (await import('./own-provider.ts')).ownTracer(warn);
  const [{ ActivitySpans }, { writeOperationSpan }, { writeTurnSpan }] = await Promise.all([
    import('./activity-spans.ts'),
    import('./operation-spans.ts'),
    import('./turn-spans.ts'),
  ]);
  const watcher = new ActivitySpans(tracer);
  return {
    options: {
      sinks: sinksOf({
        turnEnded: (turn) => writeTurnSpan(tracer, turn),
        operationEnded: (operation) => writeOperationSpan(tracer, operation),
      }),
      interceptors: { activity: [watcher.interceptors] },
    },
    watcher,
    stop,
  };
}

/** There are always some: the SDK complains of a sink that nobody has registered. */
function sinksOf({ turnEnded, operationEnded }: TraceSinks['cadre']): InjectedSinks<TraceSinks> {
  return {
    cadre: {
      turnEnded: { fn: (_info, turn) => turnEnded(turn), callDuringReplay: false },
      operationEnded: { fn: (_info, operation) => operationEnded(operation), callDuringReplay: false },
    },
  };
}

/** Whether somebody has registered a tracer provider; asked where OpenTelemetry keeps it, so that nothing is loaded. */
function isProvided(): boolean {
  const api = (globalThis as Record<symbol, { trace?: unknown } | undefined>)[
    Symbol.for('opentelemetry.js.api.1')
  ];
  return api?.trace !== undefined;
}

function isAskedFor(environment: Environment, warn: (line: string) => void): boolean {
  const of = (name: string) => environment[`OTEL_${name}`]?.trim() ?? '';
  if (of('SDK_DISABLED').toLowerCase() === 'true') return false;
  const exporter = of('TRACES_EXPORTER');
  const endpoint = of('EXPORTER_OTLP_TRACES_ENDPOINT') || of('EXPORTER_OTLP_ENDPOINT');
  if (exporter === 'none' || (exporter === '' && endpoint === '')) return false;
  if (exporter !== '' && exporter !== 'otlp') {
    warn(`WARN No spans are sent: OTEL_TRACES_EXPORTER is ${exporter}, and only otlp and none are known.`);
    return false;
  }
  const protocol = of('EXPORTER_OTLP_TRACES_PROTOCOL') || of('EXPORTER_OTLP_PROTOCOL');
  if (protocol !== '' && protocol !== 'http/protobuf') {
    warn(
      `WARN Spans are sent as http/protobuf: the protocol ${protocol} of OTEL_EXPORTER_OTLP_PROTOCOL is not known.`,
    );
  }
  return true;
}
