import { McpServer } from '@modelcontextprotocol/server';
import { type Era, offer, type ServerState } from './define-mcp-tool.ts';
import { closeTool, interruptTool, listTool, sendTool, statusTool } from './tools/agents.ts';
import { approvalsTool, approveTool, denyTool } from './tools/approvals.ts';
import { runTool } from './tools/run.ts';
import { waitTool } from './tools/wait.ts';

const TOOLS = [
  runTool,
  statusTool,
  sendTool,
  waitTool,
  interruptTool,
  closeTool,
  listTool,
  approvalsTool,
  approveTool,
  denyTool,
];

const INSTRUCTIONS = `Cadre runs agents that hand work to other agents, durably. cadre_run gives a task to an agent and returns its answer; with detach it returns the id at once, so that several can run side by side, and cadre_wait waits for them.
Sessions outlive this server and every call. Errors come as {"error": {code, message, hint, retryable}}; commands that a hint names (\`cadre doctor\`) are for a terminal.`;

/**
 * What an MCP client drives Cadre with.
 *
 * @param era of the protocol that the client speaks
 */
export function createMcpServer(version: string, state: ServerState, era: Era): McpServer {
  const server = new McpServer(
    { name: 'cadre', title: 'Cadre', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  for (const tool of TOOLS) offer(server, tool, state, era);
  return server;
}
