import { expect, test } from 'vitest';
import { MessageLines } from '../../../cli/mcp/message-lines.ts';

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

async function through(chunks: Iterable<Buffer>, bytesMax = 1_000) {
  const answers: unknown[] = [];
  const lines = new MessageLines((message) => answers.push(message), bytesMax);
  for (const chunk of chunks) lines.write(chunk);
  lines.end();
  const passed = Buffer.concat(await lines.toArray()).toString();
  return { answers, passed };
}

test('messages are passed on byte for byte, wherever they are cut', async () => {
  const text = `${JSON.stringify({ ...ping, params: { text: 'häßlich' } })}\r\n${JSON.stringify(ping)}\n`;
  const bytes = Buffer.from(text);
  const cut = [...bytes].map((byte) => Buffer.from([byte]));
  expect(await through(cut)).toEqual({ answers: [], passed: text });
  expect(await through([bytes])).toEqual({ answers: [], passed: text });
});

test.each([
  ['no JSON', null, -32_700],
  ['{"jsonrpc":"2.0"', null, -32_700],
  ['[]', null, -32_600],
  [`[${JSON.stringify(ping)}]`, null, -32_600],
  ['null', null, -32_600],
  ['{}', null, -32_600],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32_600],
  ['{"jsonrpc":"2.0","id":7,"method":7}', 7, -32_600],
  ['{"jsonrpc":"1.0","id":"a","method":"ping"}', 'a', -32_600],
])('who writes %s is told, and what follows is passed on', async (line, id, code) => {
  const next = `${JSON.stringify(ping)}\n`;
  const { answers, passed } = await through([Buffer.from(`${line}\n\n${next}`)]);
  expect(answers).toEqual([{ jsonrpc: '2.0', id, error: { code, message: expect.stringMatching(/./) } }]);
  expect(passed).toBe(next);
});

test('an answer that is none is an error to whoever waits for it, and never one to the client', async () => {
  const { answers, passed } = await through([Buffer.from('{"jsonrpc":"2.0","id":4,"result":"yes"}\n')]);
  expect(answers).toEqual([]);
  expect(JSON.parse(passed)).toMatchObject({ id: 4, error: { code: -32_600 } });
});

test('a line without an end is not kept for longer than it may be', async () => {
  const long = Buffer.alloc(3_000, 'x');
  expect(await through([long], 1_000)).toEqual({ answers: [], passed: long.toString() });
});
