import {
  type AgentContext,
  CadreError,
  DIALECT_TOOLS,
  type ErrorBody,
  type OperationTool,
  type PlannedCall,
  type SessionSettings,
} from '../../protocol/index.ts';
import type { Tool } from './define-tool.ts';
import { insideTool } from './inside-tool.ts';
import { withLocalImages } from './local-images.ts';
import { withinNumber } from './most-tools.ts';
import type { OfferedTool } from './offered-tool.ts';
import { parseArguments } from './parse-arguments.ts';
import { planMissing } from './plan-first.ts';
import { isAllowed, keepsReadOnly } from './tool-policy.ts';
import { isCadresOwn } from './tool-result.ts';

/** A call as the model made it. */
export interface RawCall {
  call_id: string;
  name: string;
  /** JSON, if all is well. */
  arguments: string;
}

const ALL_READERS = new Set(Object.values(DIALECT_TOOLS).flatMap(({ readers }) => readers));

/** Beside the tool's own time, for the way there and back. */
const MARGIN_MS = 10_000;
const SUMMARY_CHARACTERS = 120;

/** What the model of this agent sees: the tools that its policy, its depth and the session's toggles leave. */
export function offeredTools(
  agent: AgentContext,
  session: SessionSettings,
  registry: readonly Tool[],
): OfferedTool[] {
  const { work, operations } = allowedTools(agent, session, registry);
  return [...withinNumber(work, operations.length).map(offerWork), ...operations.map(offerOperation)];
}

/** The tools that this agent may have and is not offered, since there are more than a model call may offer. */
export function surplusTools(
  agent: AgentContext,
  session: SessionSettings,
  registry: readonly Tool[],
): string[] {
  const { work, operations } = allowedTools(agent, session, registry);
  const offered = new Set(withinNumber(work, operations.length));
  return work.flatMap((tool) => (offered.has(tool) ? [] : [tool.name]));
}

function allowedTools(
  agent: AgentContext,
  session: SessionSettings,
  registry: readonly Tool[],
): { work: Tool[]; operations: OperationTool[] } {
  const mayHave = ({ name }: { name: string }) => standing(name, agent, session, registry) === 'offered';
  const { operations } = DIALECT_TOOLS[agent.settings.dialect];
  return { work: registry.filter(mayHave), operations: operations.filter(mayHave) };
}

/** Whether the model of this agent may search the web by its provider's own tool, of which no call comes here. */
export function searchesWeb({ settings }: AgentContext, { tools }: SessionSettings): boolean {
  return tools.web_search && isAllowed('web_search', settings.tool_policy);
}

/** How the workflow runs one call, also of a tool that was not offered; never throws. */
export async function planCall(
  agent: AgentContext,
  session: SessionSettings,
  registry: readonly Tool[],
  call: RawCall,
): Promise<PlannedCall> {
  const name = canonicalName(call.name, registry);
  const all = offeredTools(agent, session, registry);
  const offered = all.find((tool) => tool.name === name);
  if (offered === undefined) {
    return refuse(call, refusal(call.name, standing(name, agent, session, registry), agent, all));
  }
  const missing = planMissing(name, agent, new Set(all.map((tool) => tool.name)));
  if (missing !== undefined) return refuse(call, missing);
  const parsed = await parseArguments(offered, call.arguments);
  if ('error' in parsed) return refuse(call, parsed.error);
  try {
    const isOperation = DIALECT_TOOLS[agent.settings.dialect].operations.some((tool) => tool.name === name);
    // What other tools call items is theirs.
    const args = isOperation ? withLocalImages(parsed.value, agent.settings.working_directory) : parsed.value;
    return offered.plan({ call_id: call.call_id, name, arguments: args });
  } catch (error) {
    if (error instanceof CadreError) return refuse(call, error.body);
    return refuse(call, { code: 'tool_failed', message: `${name} could not be run: ${String(error)}` });
  }
}

export function canonicalName(name: string, registry: readonly Tool[]): string {
  return registry.find((tool) => tool.aliases?.includes(name))?.name ?? name;
}

/** Whether this agent may use the tool of that name, and if not, why. */
type Standing = 'offered' | 'unknown' | 'not_allowed' | 'no_memory' | 'too_deep';

function standing(
  name: string,
  agent: AgentContext,
  session: SessionSettings,
  registry: readonly Tool[],
): Standing {
  const { operations, readers } = DIALECT_TOOLS[agent.settings.dialect];
  const isReader = readers.includes(name);
  const isOperation = operations.some((tool) => tool.name === name);
  const isForeign = ALL_READERS.has(name) && !isReader;
  const isKnown = isOperation || registry.some((tool) => tool.name === name);
  if (!isKnown || isForeign) return 'unknown';
  const isForSubAgents = isOperation || isReader;
  if (isSwitchedOff(name, isForSubAgents, session)) return 'not_allowed';
  // Said first: no role could change it.
  if (isForSubAgents && agent.depth >= agent.settings.limits.max_depth) return 'too_deep';
  const tool = registry.find((tool) => tool.name === name);
  const isOurs = tool !== undefined && isCadresOwn(tool);
  if (name === 'remember' && isOurs && agent.settings.memory === undefined) return 'no_memory';
  const { tool_policy: policy } = agent.settings;
  if (!isAllowed(name, policy)) return 'not_allowed';
  if (policy.read_only && tool !== undefined && !keepsReadOnly(tool, isOurs)) return 'not_allowed';
  return 'offered';
}

function refusal(name: string, why: Standing, agent: AgentContext, all: readonly OfferedTool[]): ErrorBody {
  const retryable = false;
  if (why === 'too_deep') {
    return { code: 'limit_depth', message: DIALECT_TOOLS[agent.settings.dialect].tooDeep, retryable };
  }
  const hint = `Available: ${all.length === 0 ? 'none' : all.map((tool) => tool.name).join(', ')}.`;
  const shown = JSON.stringify(name.slice(0, 100));
  if (why === 'unknown')
    return { code: 'unknown_tool', message: `There is no tool ${shown}.`, hint, retryable };
  if (why === 'no_memory')
    return {
      code: 'tool_not_allowed',
      message: 'This session keeps no memory ([memory] enabled).',
      hint,
      retryable,
    };
  const message = `The tool ${shown} is not available to this agent (role ${agent.settings.role}).`;
  return { code: 'tool_not_allowed', message, hint, retryable };
}

function isSwitchedOff(name: string, isForSubAgents: boolean, { tools }: SessionSettings): boolean {
  if (isForSubAgents) return !tools.subagent_tools;
  const toggles: Record<string, boolean> = {
    update_plan: tools.plan,
    view_image: tools.view_image,
    web_search: tools.web_search,
  };
  return toggles[name] === false;
}

function offerWork(tool: Tool): OfferedTool {
  const { name, aliases, description, parameters, schema } = tool;
  return {
    name,
    ...(aliases === undefined ? {} : { aliases }),
    description,
    parameters,
    ...(schema === undefined ? {} : { schema }),
    plan: (call) => ({
      kind: 'activity',
      call_id: call.call_id,
      name,
      effects: tool.effects,
      timeout_ms: tool.timeoutMs(call.arguments) + MARGIN_MS,
      summary: summaryOf(tool, call.arguments),
      ...(isCadresOwn(tool) ? heldBy(tool.commandSession(call.arguments)) : {}),
      ...(tool.ifLost === undefined ? {} : { if_lost: tool.ifLost }),
    }),
  };
}

function heldBy(session: number | undefined): { command_session?: number } {
  return session === undefined ? {} : { command_session: session };
}

/** Only for people who watch: no reason to refuse a call. */
function summaryOf(tool: Tool, args: unknown): string {
  try {
    return oneLine(insideTool(tool.name, () => tool.summary(args)));
  } catch {
    return '';
  }
}

function offerOperation({
  name,
  description,
  parameters,
  summary = describeOperation,
}: OperationTool): OfferedTool {
  return {
    name,
    description,
    parameters,
    plan: (call) => ({
      kind: 'operation',
      call_id: call.call_id,
      name,
      arguments: call.arguments,
      summary: oneLine(summary(call.arguments)),
    }),
  };
}

/** What an operation works on: whom, and with which words. */
function describeOperation(args: unknown): string {
  const { agent_type, id, ids, message } = args as Record<string, string | string[] | undefined>;
  return [agent_type, id, ids, message].flat().filter(Boolean).join(' ');
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what would break the line, or the terminal
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length <= SUMMARY_CHARACTERS ? line : `${line.slice(0, SUMMARY_CHARACTERS - 1)}…`;
}

function refuse(call: RawCall, error: ErrorBody): PlannedCall {
  return { kind: 'refused', call_id: call.call_id, name: call.name, error, summary: error.code };
}
