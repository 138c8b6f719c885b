import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import protobuf from 'protobufjs';

export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for one that has none. */
  parentSpanId: string;
  /** 2 is an error. */
  status: number;
  durationMs: number;
  attributes: Record<string, string | number | boolean>;
  resource: Record<string, string | number | boolean>;
}

/** A collector on loopback that takes OTLP over HTTP in protobuf, as far as tests look at it. */
export async function startSpanReceiver() {
  const spans: ReceivedSpan[] = [];
  /** Whole, as they came: what must not be in them is looked for here. */
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    bodies.push(body.toString('latin1'));
    if (request.url === '/v1/traces') spans.push(...spansOf(body));
    response.writeHead(request.url === '/v1/traces' ? 200 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The fields of opentelemetry/proto/trace/v1 that are read here, by their numbers there. */
const request = protobuf
  .parse(
    `syntax = "proto3";
    message Request { repeated ResourceSpans resource_spans = 1; }
    message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
    message Resource { repeated KeyValue attributes = 1; }
    message ScopeSpans { repeated Span spans = 2; }
    message Span {
      bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
      fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; Status status = 15;
    }
    message Status { int32 code = 3; }
    message KeyValue { string key = 1; Value value = 2; }
    message Value { oneof value { string string = 1; bool bool = 2; int64 int = 3; double double = 4; } }`,
  )
  .root.lookupType('Request');

type Value = Partial<Record<'string' | 'bool' | 'int' | 'double', string | number | boolean>>;
type KeyValues = { key: string; value: Value }[];
interface Decoded {
  resourceSpans: {
    resource: { attributes: KeyValues };
    scopeSpans: {
      spans: {
        traceId: Buffer;
        spanId: Buffer;
        parentSpanId: Buffer;
        name: string;
        start: string;
        end: string;
        attributes: KeyValues;
        status: { code: number } | null;
      }[];
    }[];
  }[];
}

function spansOf(body: Buffer): ReceivedSpan[] {
  const decoded = request.toObject(request.decode(body), { defaults: true, longs: String }) as Decoded;
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        traceId: Buffer.from(span.traceId).toString('hex'),
        spanId: Buffer.from(span.spanId).toString('hex'),
        parentSpanId: Buffer.from(span.parentSpanId).toString('hex'),
        status: span.status?.code ?? 0,
        durationMs: Number((BigInt(span.end) - BigInt(span.start)) / 1_000_000n),
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource.attributes),
      })),
    ),
  );
}

function attributesOf(pairs: KeyValues): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.int === undefined ? (value.string ?? value.bool ?? value.double ?? '') : Number(value.int),
    ]),
  );
}
