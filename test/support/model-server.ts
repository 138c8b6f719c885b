import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerBody, answerEvents, type ScriptedAnswer } from './wire-answers.ts';
import { type SeenRequest, seenRequest } from './wire-requests.ts';

/** What can go wrong with an answer. */
export type Fault =
  | {
      kind: 'status';
      status: number;
      headers?: Record<string, string>;
      message?: string;
      code?: string;
      param?: string;
    }
  /** The connection breaks in the middle of the answer. */
  | { kind: 'drop' }
  | { kind: 'invalid_json' }
  /** An answer that ends well and holds nothing. */
  | { kind: 'empty' }
  /** The answer starts and then nothing more comes. */
  | { kind: 'hang' };

/** `paceMs`: the pause before each piece of the answer. */
export type Answer = ScriptedAnswer & { delayMs?: number; paceMs?: number; fault?: Fault };
export type Answerer = (request: SeenRequest) => Answer | Promise<Answer>;

export interface ModelServer {
  /** Base URL, with /v1. */
  url: string;
  /** Every request for an answer, in order; faults included. */
  requests: SeenRequest[];
  close(): Promise<void>;
}

export interface ModelServerOptions {
  port?: number;
  /** What /v1/models lists. */
  models?: string[];
  /** The formats that exist here; another one answers 404. */
  wires?: ('responses' | 'chat')[];
  /** Another key than this answers 401. */
  key?: string;
}

const ROUTES: Record<string, 'responses' | 'chat'> = {
  '/v1/responses': 'responses',
  '/v1/chat/completions': 'chat',
};

/**
 * An OpenAI-compatible server on loopback whose answers a function gives, without any delay of its own.
 *
 * @example
 * const server = await startModelServer((request) =>
 *   request.answers === 0 ? { calls: [{ name: 'list_dir', arguments: { path: '.' } }] } : { text: 'done' },
 * );
 */
export async function startModelServer(
  answerer: Answerer,
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    handle(request, response, answerer, options, requests).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      sendError(response, { kind: 'status', status: 400, message });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  answerer: Answerer,
  options: ModelServerOptions,
  requests: SeenRequest[],
): Promise<void> {
  const { models = ['test-model'], wires = ['responses', 'chat'], key } = options;
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) {
    const sent = request.headers.authorization?.replace('Bearer ', '') ?? '';
    sendError(response, { kind: 'status', status: 401, message: `Incorrect API key provided: ${sent}` });
    return;
  }
  if (path === '/v1/models') {
    sendJson(response, 200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) });
    return;
  }
  const wire = ROUTES[path];
  if (wire === undefined || !wires.includes(wire) || request.method !== 'POST') {
    sendError(response, { kind: 'status', status: 404, message: `Nothing at ${path}` });
    return;
  }
  const seen = seenRequest(wire, JSON.parse(await bodyOf(request)), request.headers);
  requests.push(seen);
  if (!models.includes(seen.model)) {
    const message = `The model ${seen.model} does not exist`;
    sendError(response, { kind: 'status', status: 404, message, code: 'model_not_found' });
    return;
  }
  const answer = await answerer(seen);
  if (answer.delayMs) await sleep(answer.delayMs);
  await send(response, seen, answer);
}

async function send(response: ServerResponse, request: SeenRequest, answer: Answer): Promise<void> {
  const { fault } = answer;
  if (fault?.kind === 'status') return sendError(response, fault);
  if (request.wire === 'responses' && request.body.stream !== true && fault === undefined) {
    return sendJson(response, 200, answerBody(request, answer));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = answerEvents(request, fault?.kind === 'empty' ? {} : answer);
  switch (fault?.kind) {
    case 'drop':
      await written(response, events.slice(0, Math.ceil(events.length / 2)).join(''));
      response.destroy();
      return;
    case 'hang':
      await written(response, events[0] ?? '');
      return;
    case 'invalid_json':
      response.end(`${events[0]}data: {"type": "response.output\n\n`);
      return;
    default:
      if (answer.paceMs === undefined) response.end(events.join(''));
      else {
        for (const event of events) {
          await sleep(answer.paceMs);
          await written(response, event);
        }
        response.end();
      }
  }
}

function sendError(response: ServerResponse, fault: Extract<Fault, { kind: 'status' }>): void {
  const { status, message = `status ${status}`, code = null, param = null, headers = {} } = fault;
  sendJson(response, status, { error: { message, type: 'test_error', code, param } }, headers);
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => response.write(text, () => resolve()));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
