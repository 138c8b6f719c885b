import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  type AgentContext,
  type AgentId,
  type AgentSettings,
  type CoreActivities,
  filterEnvironment,
  type PlanRequest,
  type SessionId,
  type SessionSettings,
  type ToolRequest,
  type Wire,
} from '../protocol/index.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { AgentSettingsStore } from './agent-settings.ts';
import { CommandSessions } from './commands/command-sessions.ts';
import { findEnded } from './find-ended.ts';
import { storeText } from './handles/handle-store.ts';
import { createStoreOutputs } from './handles/store-outputs.ts';
import { transcriptReader } from './handles/transcripts.ts';
import { activityContext } from './heartbeat.ts';
import type { McpPool } from './mcp/pool.ts';
import { serverOf } from './mcp/tool-names.ts';
import { ConversationCache } from './model/conversation-cache.ts';
import { createModelActivity } from './model/model.ts';
import { ModelProviders } from './model/model-providers.ts';
import { conversationReader } from './model/read-conversation.ts';
import { createFindClosedAgent } from './restore/find-closed-agent.ts';
import { createReadItems, createReadSnapshot } from './restore/read-run.ts';
import { instructionsFor } from './roles/instructions.ts';
import { createResolveRole } from './roles/resolve-role.ts';
import { createArchiveAgent } from './rollout/archive-agent.ts';
import { createWriteRollout } from './rollout/write-rollout.ts';
import type { OwnPlaces } from './sandbox/sandboxed-command.ts';
import { CachedSessionStore } from './session-store.ts';
import { terminateAgents } from './terminate-agents.ts';
import { builtinTools } from './tools/builtin-tools.ts';
import type { Tool } from './tools/define-tool.ts';
import { offeredTools, planCall, searchesWeb, surplusTools } from './tools/offered.ts';
import { createFoundToolActivity, createToolActivities, type ToolDeps } from './tools/run-tool.ts';
import { isTrusted } from './trust/trusted-folders.ts';

export interface ActivityDeps {
  client: Client;
  /** Reads the shared settings of a session from its root. */
  readSession(session: SessionId): Promise<SessionSettings>;
  /** Reads an agent's settings from it. */
  readAgentSettings(agent: AgentId): Promise<AgentSettings>;
  /** Where keys are found; what commands may see of it is filtered. */
  environment: Readonly<Record<string, string | undefined>>;
  /** CADRE_HOME. */
  stateDir: string;
  /** What no command in a sandbox may change, beside that. */
  readOnly?: OwnPlaces['readOnly'];
  /** Where agents are found that Temporal keeps no longer. */
  rollouts: Rollouts;
  /** Whether the rollouts of sessions that close are written there. */
  writesRollouts: boolean;
  /** The memory file of this worker, for sessions that ask for a memory and bring no file of their own. */
  memory?: string | undefined;
  /** A team's own tools. One that bears a built-in's name takes its place. */
  tools: readonly Tool[];
  /** Servers that bring further tools. */
  mcp?: McpPool | undefined;
  /** The commands that go on between calls; whoever gives them ends them. */
  commands?: CommandSessions;
  /** The queue of this worker alone. */
  ownQueue?: string | undefined;
  maxCachedConversations?: number | undefined;
  watcher?: ActivityWatcher | undefined;
}

/** Told inside a call, in its asynchronous context, what the call itself does not carry. */
export interface ActivityWatcher {
  /** Whose call it is, with the settings that it holds for. */
  agent(agent: AgentContext): void;
  /** How many tools a model call may offer. */
  offered(count: number): void;
}

/** Everything that agents have done for them: model calls, tools, roles, ending what does not answer. */
export function createActivities(deps: ActivityDeps) {
  const tools = registry(deps.tools);
  const sessions = new CachedSessionStore(deps.readSession);
  const settings = new AgentSettingsStore(deps.readAgentSettings);
  const providers = new ModelProviders(deps.environment);
  const commands = deps.commands ?? new CommandSessions();
  const rollouts = deps.writesRollouts ? deps.rollouts : undefined;

  const withSettings =
    <R extends { agent: AgentContext }, A>(run: (request: R) => Promise<A>) =>
    async (request: Wire<R>): Promise<A> => {
      const agent = await settings.complete(request.agent);
      deps.watcher?.agent(agent);
      return run({ ...request, agent } as unknown as R);
    };

  /** Those of this worker, and those that servers have now. */
  const toolsOf = async (session: SessionSettings): Promise<readonly Tool[]> => {
    const found = (await deps.mcp?.offered(session)) ?? [];
    const names = new Set(tools.map((tool) => tool.name));
    return found.length === 0 ? tools : [...tools, ...found.filter((tool) => !names.has(tool.name))];
  };

  const conversations = new ConversationCache({ conversations: deps.maxCachedConversations });
  const model = createModelActivity({
    sessions,
    providers,
    conversations,
    readItems: conversationReader(deps.client),
    instructionsFor,
    stateDir: deps.stateDir,
    offeredTools: async (agent, session) => {
      const offered = offeredTools(agent, session, await toolsOf(session));
      deps.watcher?.offered(offered.length);
      return offered;
    },
    searchesWeb,
    planCall: async (agent, session, call) => planCall(agent, session, await toolsOf(session), call),
    warnings: async (agent, session, more) => {
      const surplus = deps.mcp === undefined ? [] : surplusTools(agent, session, await toolsOf(session));
      return deps.mcp?.untold(agent.session_id, session, [...tooMany(surplus), ...more]) ?? [...more];
    },
    store: (text) => storeText(deps.stateDir, text),
  });
  const toolDeps: ToolDeps = {
    sessions,
    tools,
    remember: (agent, callId, output) => conversations.remember(agent, callId, output),
    stateDir: deps.stateDir,
    readOnly: deps.readOnly,
    readTranscript: transcriptReader(deps.client, deps.rollouts),
    commands,
    ownQueue: deps.ownQueue,
    fallbackEnvironment: filterEnvironment(deps.environment, { exclude: deps.mcp?.keyVariables ?? [] }),
  };
  const toolActivities = createToolActivities(toolDeps);
  const mcpTool = withSettings(
    createFoundToolActivity(toolDeps, async (name, session) => deps.mcp?.toolsFor(name, session) ?? []),
  );
  const core: CoreActivities = {
    model: withSettings(model),
    plan_call: withSettings(async ({ agent, call }: PlanRequest) => {
      const session = await sessions.get(agent.session_id);
      return planCall(agent, session, await toolsOf(session), call);
    }),
    resolve_role: createResolveRole({
      sessions,
      rolloutPath: (session) => rollouts?.pathToWrite(session),
      memory: deps.memory,
      ownTools: new Set(tools.map(({ name }) => name)),
      trusts: (folder) => isTrusted(deps.stateDir, folder),
      listModels: (provider, session) => providers.models(provider, session.model_providers),
    }),
    terminate_agents: terminateAgents(deps.client),
    read_snapshot: createReadSnapshot(deps.client, deps.rollouts),
    read_items: createReadItems(deps.client, deps.rollouts),
    find_closed_agent: createFindClosedAgent(deps.client, deps.rollouts),
    find_ended: findEnded(deps.client),
    store_outputs: createStoreOutputs(deps.stateDir),
    write_rollout: createWriteRollout(deps.client, rollouts),
    end_commands: ({ agent_id }) => commands.endOf(agent_id),
    archive_agent: createArchiveAgent(deps.client, { ...deps, sessions }),
  };
  return {
    ...Object.fromEntries(Object.entries(toolActivities).map(([name, run]) => [name, withSettings(run)])),
    ...core,
    /** Temporal calls it for what has no activity of its own: tools of servers are activities under their own names. */
    default: async (request: Wire<ToolRequest>) => {
      const type = activityContext()?.info.activityType ?? '';
      if (deps.mcp === undefined || serverOf(type) === undefined) throw noActivity(type);
      return mcpTool(request);
    },
  };
}

/** As the SDK has it: another worker may have it. */
function noActivity(type: string): ApplicationFailure {
  const message = `No activity ${type} is registered on this worker.`;
  return ApplicationFailure.create({ type: 'NotFoundError', message, nonRetryable: false });
}

function tooMany(surplus: readonly string[]): string[] {
  const [first] = surplus;
  if (first === undefined) return [];
  const more = surplus.length === 1 ? first : `${first} and ${surplus.length - 1} more`;
  return [
    `There are more tools than a model call may offer; ${more} are not offered. Choose with tools_allow or tools_deny of [mcp_servers].`,
  ];
}

function registry(own: readonly Tool[]): Tool[] {
  const names = new Set(own.map((tool) => tool.name));
  return [...own, ...builtinTools.filter((tool) => !names.has(tool.name))];
}
