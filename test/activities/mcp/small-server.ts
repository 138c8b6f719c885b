/**
 * A server of tools, made of nothing, that behaves as its first argument says; `npx` and packages would only be in the
 * way of what goes wrong here. It notes each call in the file of its second argument, a line each.
 */
import { appendFileSync, closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , mode = 'good', notes] = process.argv;
const object = (properties: Record<string, unknown> = {}) => ({ type: 'object', properties });
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const send = (message: Record<string, unknown>) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const note = (line: string) => notes !== undefined && appendFileSync(notes, `${line}\n`);

const tools: Record<string, unknown>[] = [
  { name: 'echo', description: 'Says it again.', inputSchema: object({ say: { type: 'string' } }) },
  { name: 'sleep', inputSchema: object({ ms: { type: 'number' } }) },
  { name: 'die', inputSchema: object() },
  { name: 'environment', inputSchema: object() },
  { name: 'everything', inputSchema: object() },
  { name: 'long', inputSchema: object() },
  { name: 'refuse', inputSchema: object() },
  { name: 'flood', inputSchema: object() },
  { name: 'last-words', inputSchema: object() },
  { name: 'hang-up', inputSchema: object() },
  { name: 'hang', inputSchema: object() },
  { name: 'grow', inputSchema: object() },
  { name: 'work', inputSchema: object({ ms: { type: 'number' } }) },
];
const listed: Record<string, () => unknown[]> = {
  careless: () => [...tools, ...['misspeak', 'careless'].map((name) => ({ name, inputSchema: object() }))],
  many: () => Array.from({ length: 200 }, (_, i) => ({ name: `tool_${i}`, inputSchema: object() })),
  'too-many': () => Array.from({ length: 2_500 }, (_, i) => ({ name: `tool_${i}`, inputSchema: object() })),
  'wrong-schema': () => [
    ...tools,
    { name: 'list', inputSchema: [] },
    { name: 'typo', inputSchema: object({ a: { type: 'strnig' } }) },
    { name: 'text', inputSchema: 'none' },
    { name: 'bare' },
    { description: 'has no name' },
  ],
};

const answers: Record<string, (args: Record<string, unknown>) => unknown> = {
  echo: ({ say }) => text(String(say)),
  environment: () => ({ ...text(JSON.stringify(process.env)), structuredContent: { cwd: process.cwd() } }),
  careless: () => ({
    content: [{ type: 'text', text: 'done', mimeType: null }, null, { type: 'text', text: 7 }],
    structuredContent: null,
    isError: null,
  }),
  long: () => text('a line of an output\n'.repeat(100_000)),
  everything: () => ({
    content: [
      { type: 'text', text: 'some text' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'memo://a', mimeType: 'text/plain', text: 'in it' } },
      { type: 'resource', resource: { uri: 'memo://b', blob: 'AAAAAAAA' } },
      { type: 'resource_link', uri: 'memo://c', name: 'c' },
      { type: 'of-tomorrow' },
    ],
    structuredContent: { a: 1 },
    isError: true,
  }),
};

/** As a server that does one thing at a time, and nothing beside it. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

let lists = 0;
const changed = () => send({ method: 'notifications/tools/list_changed' });

/** Messages that nobody has asked for, as fast as they are taken. */
function flood(): void {
  const params = { x: 'x'.repeat(1_000) };
  const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n`;
  while (process.stdout.write(line)) {}
  process.stdout.once('drain', flood);
}

if (mode === 'noisy-death') {
  process.stderr.write(`cannot start with ${process.env.SMALL_TOKEN}\n`);
  process.exit(3);
}
if (mode === 'flood') flood();
if (mode === 'endless-line') setInterval(() => process.stdout.write('x'.repeat(1_000_000)), 1);
if (mode === 'rubbish') process.stdout.write('Welcome to my server!\n> ');
if (mode === 'careless') process.stdout.write('\uFEFF');
note(`started ${process.pid}`);

createInterface({ input: process.stdin }).on('line', (line) => {
  if (mode === 'silent' || mode === 'flood') return;
  const { id, method, params } = JSON.parse(line);
  if (mode === 'rubbish') process.stdout.write('I do not understand\n');
  else if (method === 'initialize') {
    const serverInfo = { name: 'small', version: '1.0' };
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo,
      },
    });
  } else if (method === 'tools/list') {
    if (mode === 'ever-changing' && lists++ > 0) return;
    send({ id, result: { tools: listed[mode]?.() ?? tools, nextCursor: null } });
    if (mode === 'ever-changing') setInterval(changed, 300);
  } else if (method === 'ping') send({ id, result: {} });
  else if (method === 'notifications/cancelled') note('cancelled');
  else if (method === 'tools/call') answer(id, params.name, params.arguments);
});

function answer(id: unknown, name: string, args: Record<string, unknown>): void {
  note(`call ${name}`);
  if (name === 'die') process.exit(7);
  if (name === 'flood') flood();
  else if (name === 'grow') {
    tools.push({ name: 'grown', inputSchema: object() });
    changed();
    send({ id, result: text('grew') });
  } else if (name === 'hang-up') closeSync(1);
  else if (name === 'hang') block(2_147_483_647);
  else if (name === 'work') {
    block(Number(args.ms));
    send({ id, result: text('worked') });
  } else if (name === 'last-words') {
    send({ id, result: text('last words') });
    process.stdin.destroy();
  } else if (name === 'misspeak') send({ id, error: null });
  else if (name === 'refuse') send({ id, error: { code: -32602, message: 'say is missing' } });
  else if (name === 'sleep') setTimeout(() => send({ id, result: text('slept') }), Number(args.ms));
  else send({ id, result: answers[name]?.(args) ?? text(name) });
}
