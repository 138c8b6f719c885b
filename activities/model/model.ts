import { TemporalFailure } from '@temporalio/common';
import type { Stored } from '../../protocol/cut-mark.ts';
import {
  type AgentContext,
  contextWindow,
  type ErrorBody,
  isNearlyFull,
  type ModelAnswer,
  type ModelRequest,
  type PlannedCall,
  type SessionSettings,
  type ToolCall,
  type Usage,
} from '../../protocol/index.ts';
import { activityContext, withHeartbeat } from '../heartbeat.ts';
import type { SessionStore } from '../session-store.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { checkedProvider } from './checked-provider.ts';
import type { ConversationCache, ReadItems } from './conversation-cache.ts';
import { fitAnswer } from './fit-answer.ts';
import { asCadreError, toFailure } from './model-error.ts';
import type { ModelProviders } from './model-providers.ts';
import type { ModelCall } from './providers/provider.ts';
import { RetryTime } from './retry-time.ts';
import { summarise } from './summarise.ts';
import { TextTail } from './text-tail.ts';
import { declarationOf } from './tool-schemas.ts';
import { withTask } from './with-task.ts';

export interface ModelDeps {
  sessions: SessionStore;
  conversations: ConversationCache;
  readItems: ReadItems;
  providers: ModelProviders;
  /** `offered`: the names of the tools that this agent has, also when a call goes without any. */
  instructionsFor(agent: AgentContext, offered: ReadonlySet<string>): Promise<string>;
  offeredTools(agent: AgentContext, session: SessionSettings): OfferedTool[] | Promise<OfferedTool[]>;
  /** Whether the provider's own search may be used. */
  searchesWeb(agent: AgentContext, session: SessionSettings): boolean;
  /** How the workflow runs a call, also one of a tool that was not offered; never throws. */
  planCall(agent: AgentContext, session: SessionSettings, call: ToolCall): PlannedCall | Promise<PlannedCall>;
  /** What people are to be told of the tools, and `more`: each thing once. */
  warnings?(agent: AgentContext, session: SessionSettings, more: readonly string[]): Promise<string[]>;
  /** CADRE_HOME: where copies of images are kept; none are kept without it. */
  stateDir?: string;
  /** Keeps what is cut out of an answer. */
  store(text: string): Promise<Stored>;
}

/**
 * The `model` activity: one call of an agent's model. Its input holds a pointer and the newest items only, its
 * heartbeats the end of the text that streams in. Failures carry the code as their type, and the whole error body in
 * their details.
 */
export function createModelActivity(deps: ModelDeps): (request: ModelRequest) => Promise<ModelAnswer> {
  const retryTime = new RetryTime();
  return async (request) => {
    const tail = new TextTail();
    const begun = Date.now();
    const call = callId();
    try {
      const made = await withHeartbeat(
        (signal) => answer(deps, request, signal, (text) => tail.add(text)),
        () => tail.details,
      );
      retryTime.forget(call);
      return made;
    } catch (error) {
      if (error instanceof TemporalFailure) throw error;
      const { model_retry_ms: limitMs } = request.agent.settings;
      throw toFailure(retryTime.check(call, asCadreError(error), begun, limitMs), attemptNumber());
    }
  };
}

/** The same for all attempts of a call. */
function callId(): string {
  const info = activityContext()?.info;
  return `${info?.workflowExecution?.runId} ${info?.activityId}`;
}

function attemptNumber(): number {
  return activityContext()?.info.attempt ?? 1;
}

async function answer(
  deps: ModelDeps,
  request: ModelRequest,
  signal: AbortSignal,
  onDelta: (text: string) => void,
): Promise<ModelAnswer> {
  const { agent, pointer, fresh, final } = request;
  const session = await deps.sessions.get(agent.session_id);
  // One that was forked is shown what the other was shown; what it may do is checked with its own settings.
  const { presented } = agent.settings;
  const shown = presented === undefined ? agent : { ...agent, ...presented };
  const provider = checkedProvider(deps.providers.get(agent.settings.provider, session.model_providers));
  const offered = await deps.offeredTools(shown, session);
  const [items, instructions] = await Promise.all([
    deps.conversations.resolve(pointer, fresh, deps.readItems),
    deps.instructionsFor(shown, new Set(offered.map((tool) => tool.name))),
  ]);
  const tools = final ? [] : offered;
  // What is shown of another's tools can only be refused when it is called, and of this no call comes here.
  const searches = !final && deps.searchesWeb(agent, session) && deps.searchesWeb(shown, session);
  const isTold = shown.settings.task_in_instructions === true;
  const call = {
    ...callOf(agent, session),
    ...(deps.stateDir === undefined ? {} : { state_dir: deps.stateDir }),
    cache_key: shown.agent_id,
    instructions: isTold ? withTask(instructions, items) : instructions,
    items,
    tools: tools.map(declarationOf),
    ...(searches ? { web_search: true as const } : {}),
  };
  if (request.summary) {
    const summary = await summarise(provider, call, signal);
    const { items } = await fitAnswer(summary.items, deps.store);
    return { ...summary, items, calls: [] };
  }
  const { without_search: noSearch, ...reply } = await provider.complete(call, { signal, onDelta });
  const { items: made, refused } = await fitAnswer(reply.items, deps.store);
  deps.conversations.append(pointer.agent_id, made);
  const planned = (call: ToolCall): PlannedCall | Promise<PlannedCall> => {
    const error = refused.get(call);
    if (error !== undefined) return refusedCall(call, error);
    return final ? tooLate(call) : deps.planCall(agent, session, call);
  };
  const notes = (await deps.warnings?.(agent, session, noSearch ? [searchless(agent)] : [])) ?? [];
  const warnings = [...(reply.warnings ?? []), ...notes];
  return {
    ...reply,
    items: made,
    calls: await Promise.all(made.filter((item) => item.type === 'tool_call').map(planned)),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(isFull(agent, session, reply.usage) ? { nearly_full: true } : {}),
  };
}

function searchless({ settings: { provider, model } }: AgentContext): string {
  return `tools.web_search is on, but ${model} of the model provider ${provider} goes without it: its Chat Completions have no search. Where it speaks Responses, too: wire_api = "responses" under [model_providers.${provider}].`;
}

/** What the call took is what the conversation is by now, but for what the tools are about to add. */
function isFull({ settings }: AgentContext, session: SessionSettings, usage: Usage): boolean {
  const { provider, model } = settings;
  const window = contextWindow(provider, session.model_providers[provider], model);
  return isNearlyFull(usage.input_tokens + usage.output_tokens, window);
}

/** This call was to bring an answer only: the turn has no steps left. */
function tooLate(call: ToolCall): PlannedCall {
  return refusedCall(call, { code: 'limit_steps', message: 'No tools were on offer: answer with text.' });
}

function refusedCall({ call_id, name }: ToolCall, error: ErrorBody): PlannedCall {
  return { kind: 'refused', call_id, name, error, summary: error.code };
}

function callOf(
  agent: AgentContext,
  session: SessionSettings,
): Omit<ModelCall, 'instructions' | 'items' | 'tools'> {
  const { settings } = agent;
  return {
    agent: { id: agent.agent_id, role: settings.role },
    attempt: attemptNumber(),
    model: settings.model,
    working_directory: settings.working_directory,
    ...(settings.reasoning_effort === undefined ? {} : { reasoning_effort: settings.reasoning_effort }),
    ...(agent.depth > 0 || session.output_schema === undefined
      ? {}
      : { output_schema: session.output_schema }),
  };
}
