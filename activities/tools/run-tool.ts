import { isAbsolute, join, resolve } from 'node:path';
import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import {
  type AgentId,
  filterEnvironment,
  keyVariables,
  mcpKeyVariables,
  type SessionSettings,
  type ToolAnswer,
  type ToolRequest,
} from '../../protocol/index.ts';
import type { CommandSessions } from '../commands/command-sessions.ts';
import { cutOutput, isTooLong } from '../handles/cut-output.ts';
import { storeText } from '../handles/handle-store.ts';
import type { ReadTranscript } from '../handles/transcripts.ts';
import { activityContext, withHeartbeat } from '../heartbeat.ts';
import { settlePatches } from '../patch/settle-patches.ts';
import type { OwnPlaces } from '../sandbox/sandboxed-command.ts';
import type { SessionStore } from '../session-store.ts';
import { mayPass } from '../system-reason.ts';
import { ApprovalNeeded, checkedNeed } from './approval-needed.ts';
import type { Tool, ToolContext, ToolResult } from './define-tool.ts';
import { bodyOf, failure, messageOf, messageWithCauses } from './failure.ts';
import { insideTool } from './inside-tool.ts';
import { canonicalName, planCall } from './offered.ts';
import { parseArguments } from './parse-arguments.ts';
import { checkPath } from './path-argument.ts';
import { checkedResult, isCadresOwn } from './tool-result.ts';

export interface ToolDeps {
  sessions: SessionStore;
  /** Every tool of this worker; which of them an agent may use is decided by call. */
  tools: readonly Tool[];
  /** Takes what the model will see of a call, so that the history need not bring it back to this worker. */
  remember(agent: AgentId, callId: string, output: string): void;
  /** CADRE_HOME: where long outputs are stored. */
  stateDir: string;
  /** What no command in a sandbox may change, beside that. */
  readOnly?: OwnPlaces['readOnly'];
  readTranscript: ReadTranscript;
  /** Commands that go on between calls. */
  commands: CommandSessions;
  /** Where this worker alone takes calls; undefined where it is the only one of its queue. */
  ownQueue?: string | undefined;
  /** For sessions that brought no environment of their own: the worker's, already filtered. */
  fallbackEnvironment: Readonly<Record<string, string>>;
}

export type ToolActivity = (request: ToolRequest) => Promise<ToolAnswer>;

/** How long a tool may take to end once it is told to; then it is left behind. */
const LATE_MS = 1_500;
/** How often a tool that only reads is tried when the machine is short of something. */
const ATTEMPTS = 3;
/** One activity for each tool, under its name and its aliases. */
export function createToolActivities(deps: ToolDeps): Record<string, ToolActivity> {
  const entries = deps.tools.flatMap((tool) => {
    const run: ToolActivity = async (request) => {
      const answer = await withHeartbeat((signal) => runTool(tool, request, deps, signal));
      if (answer.needs_approval === undefined) {
        deps.remember(request.agent.agent_id, request.call.call_id, answer.output);
      }
      return answer;
    };
    return [tool.name, ...(tool.aliases ?? [])].map((name) => [name, run] as const);
  });
  return Object.fromEntries(entries);
}

/**
 * The activity of tools that are found only when they are called, under whatever name. What finds none, or fails at it,
 * has called nothing.
 *
 * @param find the tools among which the called one is
 */
export function createFoundToolActivity(
  deps: ToolDeps,
  find: (name: string, session: SessionSettings) => Promise<readonly Tool[]>,
): ToolActivity {
  return (request) =>
    withHeartbeat(async (signal) => {
      const { name } = request.call;
      let answer: ToolAnswer;
      try {
        const session = await deps.sessions.get(request.agent.session_id);
        const found = await untilAborted(find(name, session), signal);
        const tool = found.find((one) => one.name === name);
        const all = [...deps.tools, ...found];
        answer =
          tool === undefined
            ? failure({ code: 'unknown_tool', message: `There is no tool ${name} any more.` })
            : await runTool(tool, request, { ...deps, tools: all }, signal);
      } catch (error) {
        if (signal.aborted || error instanceof TemporalFailure) throw error;
        answer = failure(bodyOf(error, `Nothing was run: ${name}`));
      }
      if (answer.needs_approval === undefined) {
        deps.remember(request.agent.agent_id, request.call.call_id, answer.output);
      }
      return answer;
    });
}

/**
 * Runs one call. Whatever goes wrong becomes an answer that the model can act on; only a cancellation is thrown, and
 * trouble that passes, for tools that may be tried again.
 */
async function runTool(
  tool: Tool,
  request: ToolRequest,
  deps: ToolDeps,
  cancelled: AbortSignal,
): Promise<ToolAnswer> {
  // What a killed worker has left half done is no state to work on.
  await settlePatches(deps.stateDir).catch(() => {});
  const session = await deps.sessions.get(request.agent.session_id).catch((error: unknown) => {
    if (tool.effects === 'none') throw error;
    return error instanceof Error ? error : new Error(String(error));
  });
  if (session instanceof Error) return failure(bodyOf(session, `Nothing was run: ${tool.name}`));
  const plan = await planCall(request.agent, session, deps.tools, request.call);
  if (plan.kind === 'refused') return failure(plan.error);
  if (plan.kind === 'operation' || canonicalName(request.call.name, deps.tools) !== tool.name) {
    return failure({
      code: 'unknown_tool',
      message: `${tool.name} cannot run a call of ${request.call.name}.`,
    });
  }
  const parsed = await parseArguments(tool, request.call.arguments);
  if ('error' in parsed) return failure(parsed.error);

  const timeoutMs = tool.timeoutMs(parsed.value);
  const { signal: timeout, clear } = timeLimit(timeoutMs);
  const context = contextOf(request, session, deps, AbortSignal.any([cancelled, timeout]));
  // Connections to servers of tools outlive a call, and are Cadre's own.
  const isTeams = !isCadresOwn(tool);
  try {
    const run = () => tool.run(parsed.value, isTeams ? withOwnCopies(context) : context);
    const running = isTeams ? insideTool(tool.name, run) : run();
    const result = await untilAborted(running, context.signal);
    return found(await shortened(checkedResult(result, tool), request, deps), deps.ownQueue);
  } catch (error) {
    if (cancelled.aborted) throw cancelled.reason ?? new CancelledFailure('the call was cancelled');
    if (timeout.aborted) {
      return failure({
        code: 'timeout',
        message: `${tool.name} took longer than ${timeoutMs} ms and was stopped.`,
      });
    }
    if (error instanceof ApprovalNeeded) return unapproved(tool, error, request, context);
    if (tool.effects === 'none' && mayPass(error) && isToTryAgain()) throw passing(error);
    return failure(bodyOf(error, tool.name, isTeams ? messageWithCauses : messageOf));
  } finally {
    clear();
  }
}

/** `AbortSignal.timeout` would hold a call that has long ended, with its output, until the time is up. */
function timeLimit(ms: number): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  const abandoned = new Promise<never>((_, reject) => {
    const giveUp = () => {
      late = setTimeout(() => reject(signal.reason), LATE_MS);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
  abandoned.catch(() => {});
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(late);
  }
}

function contextOf(
  { agent, call, approved = false }: ToolRequest,
  session: SessionSettings,
  deps: ToolDeps,
  signal: AbortSignal,
): ToolContext {
  const environment =
    session.environment ??
    filterEnvironment(deps.fallbackEnvironment, {
      include: ['*'],
      exclude: [...keyVariables(session.model_providers), ...mcpKeyVariables(session.mcp_servers)],
    });
  const folder = agent.settings.working_directory;
  return {
    agent,
    callId: call.call_id,
    environment,
    signal,
    approved,
    approvalRules: session.approval_rules ?? [],
    nonInteractive: session.non_interactive,
    seesImages: session.tools.view_image,
    stateDir: deps.stateDir,
    readOnly: deps.readOnly,
    readTranscript: deps.readTranscript,
    commands: deps.commands,
    resolve: (path) => {
      checkPath(path);
      return isAbsolute(path) ? resolve(path) : resolve(folder, underHome(path, environment.HOME));
    },
  };
}

/** What a team's tool writes into it counts for nobody else: settings and environment are those of later calls, too. */
function withOwnCopies(context: ToolContext): ToolContext {
  const { agent, environment, approvalRules } = context;
  return {
    ...context,
    agent: structuredClone(agent),
    environment: { ...environment },
    ...(approvalRules === undefined ? {} : { approvalRules: structuredClone(approvalRules) }),
  };
}

function underHome(path: string, home: string | undefined): string {
  if (home === undefined || !(path === '~' || path.startsWith('~/'))) return path;
  return join(home, path.slice(1));
}

async function shortened(result: ToolResult, request: ToolRequest, deps: ToolDeps): Promise<ToolAnswer> {
  const limit = request.agent.settings.limits.tool_output_limit;
  if (result.handle !== undefined || !isTooLong(result.output, limit)) return result;
  const stored = await storeText(deps.stateDir, result.output);
  const output = cutOutput(result.output, limit, stored);
  return 'handle' in stored ? { ...result, output, handle: stored.handle } : { ...result, output };
}

/** A command that goes on is found again by the queue of its worker. */
function found(answer: ToolAnswer, queue: string | undefined): ToolAnswer {
  const { command_session: session } = answer;
  if (session?.open !== true || queue === undefined) return answer;
  return { ...answer, command_session: { ...session, queue } };
}

/** A person is asked, where there is one; the keys of different tools are different questions. */
function unapproved(
  tool: Tool,
  needed: ApprovalNeeded,
  { agent }: ToolRequest,
  { approved, nonInteractive }: ToolContext,
): ToolAnswer {
  if (approved) {
    return failure({
      code: 'tool_failed',
      message: `${tool.name} asks for an approval that it already has.`,
    });
  }
  try {
    const { rule, ...need } = checkedNeed(needed.need);
    const refusal = needed.refusal({ nonInteractive, policy: agent.settings.approval_policy });
    if (refusal !== undefined) return failure(bodyOf(refusal, tool.name));
    const key = `${tool.name} ${need.key}`;
    // What is allowed from now on, is so for commands alone.
    const ruled = rule === undefined || !isCadresOwn(tool) ? {} : { rule };
    return { output: '', success: false, needs_approval: { ...need, ...ruled, key } };
  } catch (error) {
    return failure(bodyOf(error, tool.name));
  }
}

function isToTryAgain(): boolean {
  return (activityContext()?.info.attempt ?? ATTEMPTS) < ATTEMPTS;
}

function passing(error: unknown): ApplicationFailure {
  return ApplicationFailure.create({ type: 'tool_failed', message: messageOf(error), nonRetryable: false });
}
