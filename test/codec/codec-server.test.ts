import { request } from 'node:http';
import type { Payload } from '@temporalio/common';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type CodecServerOptions, startCodecServer } from '../../codec/codec-server.ts';
import { decodePayloads } from '../../codec/index.ts';
import { payloadsFromJson, payloadsToJson } from '../../codec/payloads-json.ts';
import type { KeyRing } from '../../protocol/index.ts';
import { encodingOf, payloadOf } from './payloads.ts';

const UI = 'http://127.0.0.1:8233';
const ring: KeyRing = { current: 'k1', keys: new Map([['k1', Buffer.alloc(32, 1)]]) };

async function served(options: Partial<CodecServerOptions> = {}): Promise<string> {
  const server = await startCodecServer({ origins: [UI], ...options });
  onTestFinished(() => server.close());
  return server.url;
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function coded(url: string, payloads: Payload[]): Promise<Payload[]> {
  const response = await post(url, payloadsToJson(payloads));
  expect(response.status).toBe(200);
  return payloadsFromJson(await response.json());
}

const large = JSON.stringify('a line of a log that says little\n'.repeat(1_000));

test('what it encodes is sealed, and what it decodes is what it was, in order', async () => {
  const url = await served({ keys: ring });
  const payloads = [payloadOf('"one"'), payloadOf(large), payloadOf('null')];
  const sealed = await coded(`${url}/encode`, payloads);
  expect(sealed.map(encodingOf)).toEqual(Array(3).fill('binary/encrypted'));
  expect(await decodePayloads(sealed, ring)).toEqual(['one', JSON.parse(large), null]);
  const back = await coded(`${url}/decode`, sealed);
  expect(back.map(({ data }) => Buffer.from(data ?? []).toString())).toEqual(['"one"', large, 'null']);
});

test('without keys it decompresses, and gives back what is sealed as it is', async () => {
  const sealed = await coded(`${await served({ keys: ring })}/encode`, [payloadOf('"x"')]);
  const url = await served();
  const [compressed] = await coded(`${url}/encode`, [payloadOf(large)]);
  expect(encodingOf(compressed)).toBe('binary/zstd');
  const back = await coded(`${url}/decode`, [compressed as Payload, ...sealed]);
  expect(back.map(encodingOf)).toEqual(['json/plain', 'binary/encrypted']);
});

test('only the end of the path counts, so that a namespace may stand before it', async () => {
  const url = await served();
  for (const path of ['/default/decode', '/a/b/decode/', '/decode?x=1']) {
    expect((await post(url + path, { payloads: [] })).status, path).toBe(200);
  }
  expect((await post(`${url}/download`, {})).status).toBe(404);
  expect((await post(`${url}/decode/more`, {})).status).toBe(404);
  expect((await post(`${url}/constructor`, {})).status).toBe(404);
  expect((await fetch(`${url}/decode`)).status).toBe(405);
});

test.each<[what: string, body: string]>([
  ['no JSON', '{'],
  ['no object', '[]'],
  ['payloads that are no list', '{"payloads": {}}'],
  ['a payload that is none', '{"payloads": ["x"]}'],
  ['metadata that is not base64', '{"payloads": [{"metadata": {"encoding": 1}}]}'],
])('%s is answered with 400', async (_what, body) => {
  expect((await post(`${await served()}/decode`, body)).status).toBe(400);
});

test('the page of the Web UI may ask, and no other', async () => {
  const url = `${await served({ keys: ring })}/decode`;
  const ask = (origin: string) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-namespace',
      },
    });
  const allowed = await ask(UI);
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-origin')).toBe(UI);
  expect(allowed.headers.get('access-control-allow-headers')).toBe('content-type,x-namespace');
  const own = await post(url, { payloads: [] }, { origin: UI });
  expect(own.headers.get('access-control-allow-origin')).toBe(UI);
  for (const origin of ['http://evil.example', 'http://127.0.0.1:9999', 'null']) {
    expect((await ask(origin)).status, origin).toBe(403);
    const refused = await post(url, { payloads: [] }, { origin });
    expect(refused.status, origin).toBe(403);
    expect(refused.headers.get('access-control-allow-origin'), origin).toBeNull();
  }
});

test('a name that a stranger has made lead here is refused', async () => {
  const { port } = new URL(await served({ keys: ring }));
  const statusFor = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, 'content-type': 'application/json' };
      request({ host: '127.0.0.1', port, path: '/decode', method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end('{"payloads": []}');
    });
  expect(await statusFor(`evil.example:${port}`)).toBe(403);
  expect(await statusFor(`localhost:${port}`)).toBe(200);
});

test('a port that is taken is an error', async () => {
  const { port } = new URL(await served());
  await expect(startCodecServer({ port: Number(port), origins: [] })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});

test('payloads pass through JSON unchanged, whatever they hold', () => {
  const payload = fc.record({
    metadata: fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      fc.uint8Array(),
    ),
    data: fc.uint8Array(),
  });
  fc.assert(
    fc.property(fc.array(payload), (payloads) => {
      const back = payloadsFromJson(JSON.parse(JSON.stringify(payloadsToJson(payloads))));
      expect(back.map(plain)).toEqual(payloads.map(plain));
    }),
  );
});

function plain({ metadata, data }: Payload) {
  return {
    metadata: Object.entries(metadata ?? {}).map(([name, value]) => [name, [...value]]),
    data: [...(data ?? [])],
  };
}
