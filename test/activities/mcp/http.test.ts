import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { afterEach, expect, test, vi } from 'vitest';
import type { McpServerSettings } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';
import { newServer } from './new-server.ts';
import { serve } from './servers.ts';

vi.setConfig({ testTimeout: 60_000 });

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0)) await one();
});

interface Message {
  id?: number;
  method: string;
  params: Record<string, unknown>;
}
type Answerer = (message: Message, response: ServerResponse) => void;

const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const result = (response: ServerResponse, { id }: Message, value: unknown) =>
  json(response, 200, { jsonrpc: '2.0', id, result: value });

/** Answers as a server should, unless `odd` does: it returns true then. */
async function web(odd: Record<string, Answerer> = {}) {
  const seen: { method: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message: Message = JSON.parse(await text(request));
    seen.push({ method: message.method, headers: request.headers });
    const answerer = odd[message.method];
    if (answerer !== undefined) answerer(message, response);
    else if (message.method === 'initialize') {
      const { protocolVersion } = message.params;
      const serverInfo = { name: 'web', version: '1' };
      result(response, message, { protocolVersion, capabilities: { tools: {} }, serverInfo });
    } else if (message.method === 'tools/list') {
      result(response, message, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] });
    } else if (message.method === 'tools/call') {
      result(response, message, { content: [{ type: 'text', text: 'echoed' }] });
    } else if (message.method === 'ping') result(response, message, {});
    else response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

function started(settings: McpServerSettings, environment: Record<string, string> = {}) {
  const served = serve({ web: { tools_approved: ['*'], ...settings } }, environment);
  undo.push(() => served.pool.close());
  return served;
}
async function callOf(served: ReturnType<typeof started>) {
  return (await served.tool('mcp__web__echo')).run({}, contextIn('/'));
}

test('a server gets token and headers from the variables that its settings name', async () => {
  const { url, seen } = await web();
  const settings = { url, bearer_token_env_var: 'A_TOKEN', env_http_headers: { 'X-Team': 'TEAM' } };
  const served = started(settings, { A_TOKEN: 'secret-1', TEAM: 'blue' });
  expect(await callOf(served)).toMatchObject({ output: 'echoed' });
  for (const { headers } of seen) {
    expect(headers).toMatchObject({ authorization: 'Bearer secret-1', 'x-team': 'blue' });
  }
  expect(seen.map(({ method }) => method)).toContain('tools/call');
});

test('a variable that is not set is named, and nobody is asked', async () => {
  const { url, seen } = await web();
  const served = started({ url, bearer_token_env_var: 'A_TOKEN' });
  expect(await served.offered()).toEqual([]);
  expect(served.problems().join()).toContain('the variable A_TOKEN, which its settings name, is not set');
  expect(seen).toEqual([]);
});

test.each<[string, Record<string, Answerer>, RegExp]>([
  [
    'refuses',
    { initialize: (_, response) => json(response, 401, { error: 'who are you' }) },
    /it answered HTTP 401 .*bearer_token_env_var/,
  ],
  [
    'is of another kind, or at another address',
    { initialize: (_, response) => response.writeHead(405).end() },
    /it answered HTTP 405 .*streamable HTTP/,
  ],
  [
    'answers with a page',
    { initialize: (_, response) => response.writeHead(500).end(`<html>${'x'.repeat(3_000_000)}`) },
    /^.{0,2200} … \(299\d{4} characters more\)$/,
  ],
  ['never answers', { initialize: () => {} }, /it did not answer within 5000 ms/],
  ['answers rubbish', { initialize: (_, response) => response.end('<html>') }, /content type|Unexpected/i],
  [
    'never stops answering',
    {
      'tools/list': (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const flood = (): void => {
          while (response.write('[1,'.repeat(100_000))) {}
          response.once('drain', flood);
        };
        flood();
      },
    },
    /it flooded|terminated/,
  ],
])('a server that %s offers nothing and says why', async (_, odd, why) => {
  const { url } = await web(odd);
  const served = started({ url, start_timeout_ms: 5_000 });
  expect(await served.offered()).toEqual([]);
  expect(served.problems().join()).toMatch(why);
});

test('an answer that is no message is told in words, at once', async () => {
  const answer: Answerer = ({ id }, response) => json(response, 200, { jsonrpc: '2.0', id, error: null });
  const { url } = await web({ 'tools/call': answer });
  await expect(callOf(started({ url }))).rejects.toMatchObject({
    code: 'outcome_unknown',
    message:
      'The MCP server web did not answer echo: it answered with what is no message of MCP. It is unknown whether it had its effect.',
  });
});

test('a server that is not there is said to be so; gone in the middle, its outcome is unknown', async () => {
  const nobody = started({ url: 'http://127.0.0.1:1/mcp' });
  expect(await nobody.offered()).toEqual([]);
  expect(nobody.problems().join()).toMatch(/fetch failed.*(ECONNREFUSED|bad port)/);

  const { url } = await web({ 'tools/call': (_, response) => response.destroy() });
  await expect(callOf(started({ url }))).rejects.toMatchObject({ code: 'outcome_unknown' });
  const reading = started({ url, tools_read_only: ['*'] });
  await expect(callOf(reading)).rejects.toMatchObject({ code: 'tool_failed' });
});

test('a session that the server knows no longer is begun anew, and the call is made', async () => {
  let calls = 0;
  const { url, seen } = await web({
    'tools/call': (message, response) => {
      calls++;
      if (calls === 1) json(response, 404, { error: 'no such session' });
      else result(response, message, { content: [{ type: 'text', text: 'echoed' }] });
    },
  });
  expect(await callOf(started({ url }))).toMatchObject({ output: 'echoed' });
  expect(seen.filter(({ method }) => method === 'initialize')).toHaveLength(2);
});

test('a server that speaks nothing but the later revision is greeted anew, and spoken to in that', async () => {
  const handler = createMcpHandler(newServer, { legacy: 'reject' });
  const greetings: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (body !== '') greetings.push(JSON.parse(body).method);
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    const { method = 'GET' } = request;
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, { method, headers, ...(body === '' ? {} : { body }) }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(
    () => handler.close(),
    () => {
      server.closeAllConnections();
      server.close();
    },
  );
  const served = started({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` });
  const echo = await served.tool('mcp__web__echo');
  expect(await echo.run({ say: 'hello' }, contextIn('/tmp'))).toEqual({ output: 'hello', success: true });
  expect(greetings.slice(0, 2)).toEqual(['initialize', 'server/discover']);
  expect(served.problems()).toEqual([]);
});
/** An answer that begins and breaks off, as when a server is killed; with `resumable` it could be taken up again. */
const breakingOff = (response: ServerResponse, resumable: boolean): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(resumable ? 'id: 1\nretry: 100\ndata: \n\n' : ': begun\n\n');
  setTimeout(() => response.destroy(), 100);
};

test.each([false, true])(
  'an answer that breaks off is a loss, and not waited for; resumable: %s',
  async (resumable) => {
    let calls = 0;
    const { url, seen } = await web({
      'tools/call': (message, response) => {
        calls++;
        if (calls === 2) result(response, message, { content: [{ type: 'text', text: 'echoed' }] });
        else breakingOff(response, resumable);
      },
    });
    const reading = started({ url, tools_read_only: ['*'] });
    expect(await callOf(reading)).toMatchObject({ output: 'echoed' });
    await expect(callOf(started({ url }))).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('broke off'),
      hint: 'Look at what is there before you try again.',
    });
    expect(calls).toBe(3);
    // It was there all the time: the connections went on.
    expect(seen.filter(({ method }) => method === 'initialize')).toHaveLength(2);
  },
);
