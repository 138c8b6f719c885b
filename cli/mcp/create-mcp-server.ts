import { McpServer } from '@modelcontextprotocol/server';
import { offer, type ServerState } from './define-mcp-tool.ts';
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
Sessions outlive this server and every call. Errors come as {"error": {code, message, hint, retryable}}; commands that a hint names are those of the command line, of which the tools here have the names (cadre_list is \`cadre ps\`).`;

/** A person takes the time that it needs to answer a question. */
const ANSWER_MS = 24 * 3_600_000;
/** Questions in one run. */
const QUESTIONS_MAX = 10_000;

/** What an MCP client drives Cadre with. */
export function createMcpServer(version: string, state: ServerState): McpServer {
  const server = new McpServer(
    { name: 'cadre', title: 'Cadre', version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      inputRequired: { maxRounds: QUESTIONS_MAX, roundTimeoutMs: ANSWER_MS },
    },
  );
  for (const tool of TOOLS) offer(server, tool, state);
  return server;
}
