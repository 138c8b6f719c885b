/** A server that speaks nothing but the revision of 2026-07-28, on its standard input and output. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

export function newServer(): McpServer {
  const server = new McpServer({ name: 'new', version: '1.0' }, { capabilities: { tools: {} } });
  const config = { description: 'Says it again.', inputSchema: z.object({ say: z.string() }) };
  server.registerTool('echo', config, async ({ say }) => ({ content: [{ type: 'text', text: say }] }));
  return server;
}

if (import.meta.main) serveStdio(newServer, { legacy: 'reject' });
