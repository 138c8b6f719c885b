import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { cadreVersion } from '../../rollout/cadre-version.ts';
import { holdOnClosedOutput } from '../closed-output.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import { Invocation } from '../invocation.ts';
import { createMcpServer } from '../mcp/create-mcp-server.ts';
import { OwnSessions } from '../mcp/own-sessions.ts';
import { ClientLine } from '../mcp/stdio.ts';
import { Workplaces } from '../workplaces.ts';

/** Speaks MCP on standard input and output, until the client has gone or the process is told to stop. */
export default async function mcpServer(
  { options, output }: Invocation,
  _args: [],
  { timeout }: { timeout?: number },
): Promise<ExitCode> {
  const line = new ClientLine();
  const invocation = new Invocation({ ...options, json: false, jsonl: false });
  const workplaces = new Workplaces(invocation);
  const sessions = new OwnSessions(invocation, workplaces);
  const state = { options, workplaces, sessions, timeout };
  const version = cadreVersion();
  const server = serveStdio(({ era }) => createMcpServer(version, state, era), {
    transport: line,
    onerror: (error) => output.debug(`MCP: ${error.message}`),
  });
  // Whatever ends it, and however often it is told: what runs goes on elsewhere.
  const told = new Promise<void>((resolve) => onSignals(() => resolve()));
  const unread = new Promise<void>((resolve) => {
    holdOnClosedOutput().addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([line.closed, told, unread]);
  const leaving = sessions.leave();
  await server.close().catch(() => {});
  await leaving;
  return EXIT.done;
}
