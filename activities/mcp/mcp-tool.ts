import { z } from 'zod';
import { CadreError, MCP_CALL_MS, MCP_START_MS, matchesGlob } from '../../protocol/index.ts';
import { ApprovalNeeded } from '../tools/approval-needed.ts';
import { defineTool, type Tool, type ToolContext } from '../tools/define-tool.ts';
import { statusOf } from './connection-lost.ts';
import { inWords } from './failure-reason.ts';
import type { McpServer } from './server.ts';
import type { ServerTool } from './server-tools.ts';
import { toolResult } from './tool-result.ts';

/** The server checks what is in it, by its own schema. */
const anyArguments = z.record(z.string(), z.unknown());
/** As long as a call may wait for signs of life of its server. */
const CHECK_MS = 20_000;
/** Of what stands besides a schema, at the end of a description. */
const MOST_BESIDES = 2_000;
/** What its tools need of a server. */
export type ToolServer = Pick<McpServer, 'name' | 'settings' | 'call'>;

const ofServers = new WeakSet<Tool>();

/** Whether a tool was made here: then what runs of it in this process is Cadre's. */
export function isOfServer(tool: Tool): boolean {
  return ofServers.has(tool);
}

/** A tool of a server as an agent uses it. */
export function mcpTool(server: ToolServer, tool: ServerTool): Tool {
  const { settings } = server;
  const { timeout_ms: timeout = MCP_CALL_MS, start_timeout_ms: startMs = MCP_START_MS } = settings;
  const isListed = (globs: readonly string[] = []) => globs.some((glob) => matchesGlob(tool.own, glob));
  const onlyReads = isListed(settings.tools_read_only);
  const isApproved = isListed(settings.tools_approved);
  const defined = defineTool({
    name: tool.name,
    description: descriptionOf(tool),
    effects: onlyReads ? 'none' : 'some',
    parameters: anyArguments,
    // It may have to start the server first, and to see whether it is there; the call itself is timed by the connection.
    timeoutMs: () => (onlyReads ? 2 : 1) * (timeout + startMs + CHECK_MS),
    summary: argumentsLine,
    async run(args, context) {
      requireApproval(server, tool, args, { isApproved, onlyReads }, context);
      try {
        const result = await server.call(tool.own, args, { signal: context.signal, timeout, onlyReads });
        return await toolResult(result, context);
      } catch (error) {
        context.signal.throwIfAborted();
        throw explained(error, server.name, tool.own, onlyReads);
      }
    },
  });
  const made = { ...defined, schema: tool.schema };
  ofServers.add(made);
  return made;
}

/** A server may do anything, outside the sandbox: a person allows it, call by call or in the configuration. */
function requireApproval(
  server: ToolServer,
  tool: ServerTool,
  args: Record<string, unknown>,
  { isApproved, onlyReads }: { isApproved: boolean; onlyReads: boolean },
  { agent, approved }: ToolContext,
): void {
  const { approval_policy: policy, sandbox_mode: mode } = agent.settings;
  // Where nothing may be changed, what was allowed in general is not allowed by that.
  const isCovered = isApproved && (onlyReads || mode !== 'read-only');
  if (approved || (isCovered && policy !== 'untrusted')) return;
  throw new ApprovalNeeded(
    {
      kind: 'mcp',
      summary: `${server.name}: ${tool.own} ${JSON.stringify(args)}`,
      reason: 'a tool of an MCP server acts outside the sandbox',
      key: JSON.stringify([server.name, tool.own]),
    },
    {
      subject: 'This tool',
      hint: forGood(server.name, tool.own, {
        isApproved,
        isUntrusting: policy === 'untrusted',
        mayRead: onlyReads || mode !== 'read-only',
      }),
    },
  );
}

/** What a person would have to set so that it is asked about no more; never what is set already. */
function forGood(
  server: string,
  tool: string,
  { isApproved, isUntrusting, mayRead }: { isApproved: boolean; isUntrusting: boolean; mayRead: boolean },
): string {
  const name = JSON.stringify(tool);
  const lists = [
    ...(isApproved ? [] : [`tools_approved = [${name}]`]),
    ...(mayRead ? [] : [`tools_read_only = [${name}], if it changes nothing`]),
  ];
  const set = lists.length === 0 ? [] : [`[mcp_servers.${server}] ${lists.join(' and ')}`];
  const policy = isUntrusting ? ['another approval policy: "untrusted" asks about each call'] : [];
  return `A person can allow it for good: ${[...set, ...policy].join(', and ')}.`;
}

function descriptionOf({ description, own, besides }: ServerTool): string {
  const about = description.trim() === '' ? own : description;
  if (besides === undefined) return about;
  return `${about}\n\nThe arguments also have to follow: ${besides.slice(0, MOST_BESIDES)}`;
}

function argumentsLine(args: Record<string, unknown>): string {
  return Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

function explained(error: unknown, server: string, tool: string, onlyReads: boolean): unknown {
  if (error instanceof CadreError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const said = `The MCP server ${server} did not answer ${tool}: ${inWords(error).slice(0, 2_000)}`;
  // The server's own refusal: it has looked at the call, and says what came of it.
  if (typeof code === 'number') {
    return new CadreError(
      'tool_failed',
      `The MCP server ${server} refused ${tool}: ${error.message.slice(0, 2_000)} (${code})`,
    );
  }
  const status = statusOf(error);
  if (status !== undefined && status < 500) {
    const hint = `Its settings: [mcp_servers.${server}]; \`cadre doctor\` tries it.`;
    return new CadreError('tool_failed', `${said} (HTTP ${status})`, { hint });
  }
  if (onlyReads) return new CadreError('tool_failed', said);
  return new CadreError('outcome_unknown', `${said}. It is unknown whether it had its effect.`, {
    hint: 'Look at what is there before you try again.',
  });
}
