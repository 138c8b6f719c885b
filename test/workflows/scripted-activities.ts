import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { findEnded } from '../../activities/find-ended.ts';
import type { ReadItems } from '../../activities/model/conversation-cache.ts';
import { conversationReader } from '../../activities/model/read-conversation.ts';
import { createFindClosedAgent } from '../../activities/restore/find-closed-agent.ts';
import { createReadItems, createReadSnapshot } from '../../activities/restore/read-run.ts';
import { createArchiveAgent } from '../../activities/rollout/archive-agent.ts';
import { createWriteRollout } from '../../activities/rollout/write-rollout.ts';
import { terminateAgents } from '../../activities/terminate-agents.ts';
import {
  type AgentId,
  type AgentSettings,
  type ArchiveAnswer,
  type ArchiveRequest,
  behindSummary,
  type ClosedAgentAnswer,
  type ClosedAgentRequest,
  DIALECT_TOOLS,
  EMPTY_DIGEST,
  extendDigest,
  type FreshItem,
  type Item,
  type ModelAnswer,
  type ModelRequest,
  noUsage,
  type PlannedCall,
  type PlanRequest,
  type RoleAnswer,
  type RoleRequest,
  type RolloutRequest,
  type SessionId,
  type StoreAnswer,
  type StoreRequest,
  sessionOf,
  type TerminateRequest,
  type ToolAnswer,
  type ToolRequest,
  type Wire,
} from '../../protocol/index.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import { readSession } from '../../worker/session-query.ts';
import type { Call, Say, Script, ScriptedTool } from './script.ts';

/** What is played in one session, and what came of it. */
export interface Play {
  script: Script;
  tools: Record<string, ScriptedTool>;
  roles: Record<string, Partial<AgentSettings>>;
  /** Whoever resolves a role waits for this. */
  beforeRole: (request: RoleRequest) => unknown;
  /** The server ends no agent of this session. */
  endless: boolean;
  /** Conversations as their models know them. */
  conversations: Map<AgentId, Item[]>;
  /** What the tools said, by call. */
  outputs: Map<string, string>;
  /** What was too long for a conversation, by the number in its handle. */
  stored: string[];
  asked: {
    agent: string;
    items: Item[];
    turn: number;
    final: boolean;
    summary: boolean;
    settings?: AgentSettings;
  }[];
  /** How often a role was resolved for the folder /link. */
  followed: number;
  /** Where rollouts are found, and written. */
  rollouts: Rollouts | undefined;
  /** Whoever writes the rollout waits for this. */
  beforeRollout: () => unknown;
  /** What is wrong with the earlier runs of agents, by short name. */
  pasts: Map<string, Past>;
}

export interface Past {
  /** The server keeps it no longer, or loses it just after somebody has looked for it. */
  gone?: 'before' | 'after';
  /** Whoever reads it waits for this. */
  held?: Promise<unknown>;
  /** Whoever looks for it waits for this. */
  sought?: Promise<unknown>;
}

/** Shared by all workers of a test file, so that one may go on where another has stopped. */
export type Plays = Map<SessionId, Play>;

const OPERATIONS = new Map(
  Object.values(DIALECT_TOOLS).flatMap(({ operations }) => operations.map((tool) => [tool.name, tool])),
);

/** `root`, or the part of an id after that of its root. */
function shortName(id: AgentId): string {
  const cut = id.indexOf('/');
  return cut < 0 ? 'root' : id.slice(cut + 1);
}

/**
 * Activities that play scripts. `look` is to be a tool that reads, `act` one with effects, `mute` one with effects that
 * says nothing any more once it has begun, as if its worker were dead.
 */
export function scriptedActivities(plays: Plays, client: Client) {
  const playOf = (id: SessionId): Play => {
    const play = plays.get(id);
    if (play === undefined) throw ApplicationFailure.nonRetryable(`nothing is played in ${id}`);
    return play;
  };
  const pastOf = ({ agent_id: id }: { agent_id: AgentId }) =>
    plays.get(sessionOf(id))?.pasts.get(shortName(id));
  const reading =
    <R extends { agent_id: AgentId }, A>(
      create: (client: Client, rollouts?: Rollouts) => (request: R) => Promise<A>,
    ) =>
    async (request: R): Promise<A> => {
      const past = pastOf(request);
      await past?.held;
      const { rollouts } = playOf(sessionOf(request.agent_id));
      if (past?.gone === undefined) return create(client, rollouts)(request);
      const message = `Temporal keeps ${request.agent_id} no longer.`;
      throw ApplicationFailure.nonRetryable(message, 'agent_not_resumable');
    };
  const terminate = terminateAgents(client);
  const tool = (request: Wire<ToolRequest>) => runTool(playOf(request.agent.session_id), request);
  return {
    model: (request: Wire<ModelRequest>) =>
      beating(() => speak(playOf(request.agent.session_id), request, conversationReader(client))),
    resolve_role: async (request: RoleRequest) => {
      const play = playOf(request.session_id);
      await play.beforeRole(request);
      return roleOf(play, request);
    },
    terminate_agents: async (request: TerminateRequest) => {
      if (!playOf(sessionOf(request.agent_id)).endless) return terminate(request);
      throw ApplicationFailure.nonRetryable('the server does not permit it', 'not_permitted');
    },
    read_snapshot: reading(createReadSnapshot),
    read_items: reading(createReadItems),
    find_closed_agent: async (request: ClosedAgentRequest): Promise<ClosedAgentAnswer> => {
      await pastOf(request)?.sought;
      const { rollouts } = playOf(sessionOf(request.agent_id));
      if (pastOf(request)?.gone !== 'before') return createFindClosedAgent(client, rollouts)(request);
      const message = `There is no agent ${request.agent_id}, or Temporal keeps it no longer.`;
      return { ok: false, error: { code: 'agent_not_found', message } };
    },
    find_ended: findEnded(client),
    write_rollout: async (request: RolloutRequest) => {
      const play = playOf(request.session_id);
      await play.beforeRollout();
      return createWriteRollout(client, play.rollouts)(request);
    },
    archive_agent: async (request: ArchiveRequest): Promise<ArchiveAnswer> => {
      const { rollouts } = playOf(request.session_id);
      if (rollouts === undefined) return { ok: true, path: null };
      const sessions = { get: readSession(client) };
      return createArchiveAgent(client, { sessions, rollouts, writesRollouts: true })(request);
    },
    store_outputs: async ({ texts }: StoreRequest): Promise<StoreAnswer> => {
      const { workflowExecution } = Context.current().info;
      const { stored } = playOf(sessionOf(workflowExecution?.workflowId as AgentId));
      return { stored: texts.map((text) => ({ handle: `h_${stored.push(text) - 1}` })) };
    },
    plan_call: async ({ call }: Wire<PlanRequest>) =>
      planOf({ name: call.name, args: JSON.parse(call.arguments) }, call.call_id),
    look: (request: Wire<ToolRequest>) => beating(() => tool(request)),
    update_plan: tool,
    act: (request: Wire<ToolRequest>) => beating(() => tool(request)),
    mute: (request: Wire<ToolRequest>) => Promise.race([tool(request), Context.current().cancelled]),
  };
}

async function speak(
  play: Play,
  { agent, fresh, pointer, final, summary = false }: Wire<ModelRequest>,
  read: ReadItems,
): Promise<ModelAnswer> {
  const before = pointer.count - fresh.length;
  let known = play.conversations.get(agent.agent_id) ?? [];
  // One that was forked or resumed.
  if (known.length < before) known = await read(pointer, 0, before);
  const newest = fresh.map((item) => withText(play, item));
  const items = [...known.slice(0, before), ...newest];
  if (items.length !== pointer.count || items.reduce(extendDigest, EMPTY_DIGEST) !== pointer.digest) {
    throw ApplicationFailure.nonRetryable(`the pointer of ${agent.agent_id} does not fit`, 'internal');
  }
  const name = shortName(agent.agent_id);
  const { index, replaced } = behindSummary(items);
  const step =
    replaced.answers + items.slice(index).filter((item) => item.type === 'assistant_message').length;
  const { settings } = agent;
  play.asked.push({
    agent: name,
    items,
    turn: agent.turn,
    final,
    summary,
    ...(settings === undefined ? {} : { settings }),
  });
  const said = await play.script({ agent: name, turn: agent.turn, step, final, summary, items });
  if (said.fail !== undefined) {
    const { code: type, message, retryable = false } = said.fail;
    throw ApplicationFailure.create({ message, type, nonRetryable: !retryable });
  }
  const answer = answerOf(said, `${name}-${pointer.count}`);
  // A summary is no part of the conversation.
  play.conversations.set(agent.agent_id, summary ? items : [...items, ...answer.items]);
  return answer;
}

function withText(play: Play, item: FreshItem): Item {
  if (item.type !== 'output_reference') return item;
  return { ...item.of, output: play.outputs.get(item.of.call_id) ?? '' };
}

function answerOf(said: Say, unique: string): ModelAnswer {
  const items: Item[] = [{ type: 'assistant_message', text: said.text ?? '' }];
  if (said.reasoning !== undefined) items.unshift({ type: 'reasoning', summary: said.reasoning });
  const calls: PlannedCall[] = [];
  for (const [index, call] of (said.calls ?? []).entries()) {
    const callId = call.id ?? `call-${unique}-${index}`;
    items.push({
      type: 'tool_call',
      call_id: callId,
      name: call.name,
      arguments: JSON.stringify(call.args ?? {}),
    });
    calls.push(planOf(call, callId));
  }
  const { tokens = 15 } = said;
  return {
    items,
    calls,
    usage: { ...noUsage, input_tokens: tokens - 5, output_tokens: 5, total_tokens: tokens },
    ...(said.full === true ? { nearly_full: true } : {}),
  };
}

function planOf(call: Call, callId: string): PlannedCall {
  const about = { call_id: callId, name: call.name, summary: '' };
  if (call.refused !== undefined) return { kind: 'refused', error: call.refused, ...about };
  const operation = OPERATIONS.get(call.name);
  if (operation === undefined) {
    const effects = call.effects ?? (call.name === 'look' ? 'none' : 'some');
    return { kind: 'activity', effects, timeout_ms: 120_000, ...about };
  }
  // With defaults; what a worker would refuse is tried as it is.
  const { data = call.args } = operation.parameters.safeParse(call.args ?? {});
  return { kind: 'operation', arguments: data, ...about };
}

async function runTool(play: Play, { agent, call, approved }: Wire<ToolRequest>): Promise<ToolAnswer> {
  const run = play.tools[call.name];
  if (run === undefined) throw ApplicationFailure.nonRetryable(`nobody plays ${call.name}`, 'tool_failed');
  const answer = await run({
    agent: shortName(agent.agent_id),
    approved: approved === true,
    args: JSON.parse(call.arguments),
    signal: Context.current().cancellationSignal,
  });
  const whole = typeof answer === 'string' ? { output: answer, success: true } : answer;
  play.outputs.set(call.call_id, whole.output);
  return whole;
}

function roleOf(play: Play, request: RoleRequest): RoleAnswer {
  const { role = 'default', inherited, working_directory: folder, approved } = request;
  if (role === 'nobody')
    return { ok: false, error: { code: 'unknown_role', message: 'there is no role nobody' } };
  if (role === 'broken') throw ApplicationFailure.nonRetryable('the role broken cannot be read', 'internal');
  if (folder !== undefined && approved !== true) {
    const need = {
      kind: 'directory',
      summary: `work in ${folder}`,
      reason: 'it is another one',
      key: folder,
      // A link that leads elsewhere each time it is followed.
      ...(folder === '/link' ? { path: `/place/${++play.followed}` } : {}),
    } as const;
    return { ok: false, error: { code: 'approval_unavailable', message: need.reason }, needs_approval: need };
  }
  const place = folder?.startsWith('/place/') === true ? { working_directory: folder } : {};
  const { model, reasoning_effort: effort, sandbox_mode, approval_policy } = request;
  const chosen = {
    ...(sandbox_mode === undefined ? {} : { sandbox_mode }),
    ...(approval_policy === undefined ? {} : { approval_policy }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined
      ? {}
      : { reasoning_effort: effort as NonNullable<AgentSettings['reasoning_effort']> }),
  };
  // However it is written, it gets the role's own name.
  const settings = { ...inherited, ...place, ...play.roles[role], ...chosen, role: role.toLowerCase() };
  return { ok: true, settings, description: `plays ${role}` };
}

/** Runs with heartbeats, and ends at once when it is cancelled. */
async function beating<T>(run: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), 200);
  try {
    return await Promise.race([run(), context.cancelled]);
  } finally {
    clearInterval(timer);
  }
}
