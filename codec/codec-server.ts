import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Payload } from '@temporalio/common';
import type { KeyRing } from '../protocol/index.ts';
import { payloadCodecs } from './data-converter.ts';
import { decodeWith } from './decode.ts';
import { payloadsFromJson, payloadsToJson } from './payloads-json.ts';

export interface CodecServerOptions {
  /** Without them it only compresses, and shows what was compressed. */
  keys?: KeyRing | undefined;
  /** Default: a free one. */
  port?: number | undefined;
  /** Origins of Web UIs, such as `http://127.0.0.1:8233`: what other pages ask is refused. */
  origins: readonly string[];
}

export interface CodecServer {
  url: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];
/** A page of a history; each payload may have 2 MiB, and grows by a third in JSON. */
const MOST_BYTES = 64 * 1024 * 1024;

type Work = (payloads: Payload[]) => Promise<Payload[]>;

/**
 * Serves Temporal's HTTP protocol for codecs to the Web UI and the `temporal` program, on loopback alone.
 *
 * @throws the error of the system where the port is taken
 */
export async function startCodecServer({
  keys,
  port = 0,
  origins,
}: CodecServerOptions): Promise<CodecServer> {
  const codecs = payloadCodecs(keys);
  const encode: Work = async (payloads) => {
    let coded = payloads;
    for (const codec of codecs) coded = await codec.encode(coded);
    return coded;
  };
  const decode: Work = (payloads) => decodeWith(codecs, payloads);
  const works = new Map([
    ['encode', encode],
    ['decode', decode],
  ]);
  const server = createServer((request, response) => {
    answer(request, response, works, origins).catch(() => response.destroy());
  });
  await listen(server, port);
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  works: ReadonlyMap<string, Work>,
  origins: readonly string[],
): Promise<void> {
  const { origin, host = '' } = request.headers;
  // A name that leads here, but is not this machine's own, is how a stranger's page would reach it.
  if (!LOOPBACK.includes(host.replace(/:\d+$/, ''))) return end(response, 403, 'This host is not served.');
  response.setHeader('Vary', 'Origin');
  if (origin !== undefined) {
    if (!origins.includes(origin)) return end(response, 403, `The page ${origin} is not served.`);
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Allow-Credentials', 'true');
  }
  // Namespaces may stand before it.
  const work = works.get(pathOf(request).split('/').at(-1) ?? '');
  if (work === undefined) return end(response, 404, 'There are only /encode and /decode.');
  if (request.method === 'OPTIONS') return allow(request, response);
  if (request.method !== 'POST') {
    response.setHeader('Allow', 'POST, OPTIONS');
    return end(response, 405, 'POST the payloads.');
  }
  const body = await read(request);
  if (body === undefined) return end(response, 413, `More than ${MOST_BYTES} bytes.`);
  let payloads: Payload[];
  try {
    payloads = payloadsFromJson(JSON.parse(body));
  } catch (error) {
    return end(response, 400, error instanceof Error ? error.message : String(error));
  }
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(payloadsToJson(await work(payloads))));
}

/** Tells a browser beforehand that the page may send what it wants to send. */
function allow(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Methods', 'POST, OPTIONS');
  const headers = request.headers['access-control-request-headers'] ?? 'content-type, x-namespace';
  response.setHeader('Access-Control-Allow-Headers', headers);
  response.setHeader('Access-Control-Max-Age', '600');
  response.writeHead(204).end();
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/[?#].*$/, '').replace(/\/+$/, '');
}

/** Undefined where there is more of it than is taken. */
async function read(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MOST_BYTES) chunks.push(chunk);
  }
  return size > MOST_BYTES ? undefined : Buffer.concat(chunks).toString();
}

function end(response: ServerResponse, status: number, problem: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${problem}\n`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => resolve());
  });
}
