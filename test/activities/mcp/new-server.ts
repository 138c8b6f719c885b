/** A server that speaks nothing but the revision of 2026-07-28, on its standard input and output. */
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

export function newServer(): McpServer {
  const server = new McpServer({ name: 'new', version: '1.0' }, { capabilities: { tools: {} } });
  const config = { description: 'Says it again.', inputSchema: z.object({ say: z.string() }) };
  server.registerTool('echo', config, async ({ say }) => ({ content: [{ type: 'text', text: say }] }));
  const timed = { inputSchema: z.object({ ms: z.number() }) };
  server.registerTool('sleep', timed, async ({ ms }) => {
    await sleep(ms);
    return { content: [{ type: 'text', text: 'slept' }] };
  });
  server.registerTool('hang', {}, () => {
    while (true) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  });
  return server;
}

if (import.meta.main) serveStdio(newServer, { legacy: 'reject' });
