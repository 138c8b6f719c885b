import { CancellationScope, WorkflowIdReusePolicy, workflowInfo } from '@temporalio/workflow';
import { TASK_SHOWN } from '../../protocol/agent-input.ts';
import { childId, isChildName } from '../../protocol/ids.ts';
import type {
  AgentId,
  AgentIdentity,
  AgentInput,
  AgentSettings,
  AgentView,
  ContentPart,
  Presented,
  Restore,
  RoleAnswer,
  RoleRequest,
  SessionId,
} from '../../protocol/index.ts';
import { plainText } from '../../protocol/items.ts';
import { normalizeNote } from '../../protocol/messages.ts';
import { wireStatus } from '../../protocol/status.ts';
import { noUsage } from '../../protocol/usage.ts';
import { resolveRole } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { settledCount } from '../restore.ts';
import { askApproval } from './approval.ts';
import { Refused } from './refused.ts';
import { cancelSpawn, reserveForSpawn } from './slot.ts';
import { startAgentWorkflow } from './start-agent.ts';

export interface SpawnRequest {
  callId: string;
  content: ContentPart[];
  role?: string | undefined;
  persona?: string | undefined;
  /** Stands in the id as it is, instead of role and counter. */
  name?: string | undefined;
  model?: string | undefined;
  reasoningEffort?: string | undefined;
  workingDirectory?: string | undefined;
  note?: string | undefined;
  maxTurns?: number | undefined;
  maxSteps?: number | undefined;
  maxRuntimeMs?: number | undefined;
  forkContext?: boolean | undefined;
}

export interface SpawnResult {
  id: AgentId;
  /** How many items of this agent's conversation the new one starts with; undefined when it starts afresh. */
  itemsCarried?: number;
}

/** Starts a sub-agent and answers with its id as soon as it exists; never waits for its work. */
export async function spawn(agent: AgentState, request: SpawnRequest): Promise<SpawnResult> {
  const prompt = plainText(request.content);
  const call = { call_id: request.callId, sender_id: agent.id };
  agent.emit({ type: 'agent.spawn.begin', ...call, prompt });
  try {
    const result = await start(agent, request, prompt);
    const { id } = result;
    agent.emit({
      type: 'agent.spawn.end',
      ...call,
      receiver_id: id,
      prompt,
      status: wireStatus(agent.children.get(id)?.status ?? 'pending_init'),
    });
    agent.onChange();
    return result;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    agent.emit({ type: 'agent.spawn.end', ...call, prompt, status: 'not_found', error: reason });
    throw error;
  }
}

async function start(agent: AgentState, request: SpawnRequest, prompt: string): Promise<SpawnResult> {
  const { limits } = agent.settings;
  if (agent.identity.depth >= limits.max_depth) {
    throw new Refused({
      code: 'limit_depth',
      message: 'Agent depth limit reached. Solve the task yourself.',
      hint: `agents.max_depth is ${limits.max_depth}`,
    });
  }
  const { settings, description } = await effectiveSettings(agent, request);
  const id = chooseId(agent, settings.role, request.name);
  const note = normalizeNote(request.note ?? defaultNote(settings, description));
  const identity: AgentIdentity = {
    agent_id: id,
    session_id: agent.identity.session_id,
    parent_id: agent.id,
    depth: agent.identity.depth + 1,
    source: { kind: 'sub_agent', parent_id: agent.id, depth: agent.identity.depth + 1 },
    ...(request.name === undefined ? {} : { name: request.name }),
    call_id: request.callId,
    task: prompt.slice(0, TASK_SHOWN),
    search_attributes: agent.identity.search_attributes,
  };
  const restore = request.forkContext === true ? forkOf(agent, id, settings, description) : undefined;
  // From the reservation on nothing may be cut in two: an interrupt waits for these few milliseconds.
  return CancellationScope.nonCancellable(async () => {
    const answer = await reserveForSpawn(
      agent,
      firstView(identity, settings, note),
      limits.when_full === 'queue',
    );
    if (answer === undefined) {
      cancelSpawn(agent, id);
      throw new Refused({
        code: 'agent_closed',
        message: `agent ${agent.id} is closing and starts no agents`,
      });
    }
    if (answer.outcome === 'refused') throw new Refused(answer.error);
    agent.children.add(id, settings.role, request.callId, answer.outcome === 'queued');
    const input: AgentInput = {
      identity,
      settings,
      ...(note === undefined ? {} : { note }),
      input: { id: agent.nextId('inputs'), content: request.content, from: agent.id },
      slot: answer.outcome,
      ...(restore === undefined ? {} : { restore }),
    };
    try {
      await startAgentWorkflow(input, note, WorkflowIdReusePolicy.REJECT_DUPLICATE);
    } catch (error) {
      agent.children.remove(id);
      cancelSpawn(agent, id);
      const reason = error instanceof Error ? error.message : String(error);
      throw new Refused({ code: 'internal', message: `agent ${id} could not be started: ${reason}` });
    }
    return restore?.kind === 'fork' ? { id, itemsCarried: restore.to } : { id };
  });
}

async function effectiveSettings(
  agent: AgentState,
  request: SpawnRequest,
): Promise<{ settings: AgentSettings; description: string }> {
  const asked: RoleRequest = {
    session_id: agent.identity.session_id,
    inherited: agent.settings,
    role: request.role,
    ...(request.persona === undefined ? {} : { persona: request.persona }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.reasoningEffort === undefined ? {} : { reasoning_effort: request.reasoningEffort }),
    ...(request.workingDirectory === undefined ? {} : { working_directory: request.workingDirectory }),
  };
  let answer = await answerFor(agent, asked);
  if (!answer.ok && answer.needs_approval !== undefined) {
    const refusal = await askApproval(agent, answer.needs_approval, request.callId);
    if (refusal !== undefined) throw new Refused(refusal);
    // The folder that was asked about, and no other that a link may lead to by now.
    const { key: folder } = answer.needs_approval;
    answer = await answerFor(agent, { ...asked, working_directory: folder, approved: true });
  }
  if (!answer.ok) {
    if (answer.error.code === 'approval_unavailable') agent.standing.missApproval(Date.now());
    throw new Refused(answer.error);
  }
  const { settings, description } = answer;
  const limits = { ...settings.limits };
  limits.max_steps = Math.min(limits.max_steps, request.maxSteps ?? limits.max_steps);
  limits.max_turns = tighter(limits.max_turns, request.maxTurns);
  limits.max_runtime_ms = tighter(limits.max_runtime_ms, request.maxRuntimeMs);
  const { presented: _, ...own } = settings;
  const presented = request.forkContext === true ? { presented: presentedBy(agent) } : {};
  return { settings: { ...own, limits, ...presented }, description };
}

/** Agents that one model answer starts alike are asked for once. */
function answerFor(agent: AgentState, request: RoleRequest): Promise<RoleAnswer> {
  const { inherited: _same, ...asked } = request;
  const key = JSON.stringify(asked);
  const known = agent.roleAnswers.get(key) ?? resolveRole(request, `role ${request.role ?? 'default'}`);
  agent.roleAnswers.set(key, known);
  return known;
}

function tighter(inherited: number | undefined, asked: number | undefined): number | undefined {
  if (inherited === undefined || asked === undefined) return inherited ?? asked;
  return Math.min(inherited, asked);
}

/** A fork of a fork is shown what the first one was shown. */
function presentedBy({ settings, identity }: AgentState): Presented {
  return settings.presented ?? { depth: identity.depth, settings };
}

/** The conversation up to the answer that spawns, and what has changed for whoever goes on from it. */
function forkOf(agent: AgentState, id: AgentId, settings: AgentSettings, description: string): Restore {
  const open = agent.children.open.map((child) => `${child.id} (${child.status})`);
  const plan = agent.standing.plan.map((step) => `${step.status}: ${step.step}`);
  const lines = [
    `From here on you are ${id}, a sub-agent of ${agent.id}; what is above is the conversation of ${agent.id}.`,
    `Your role: ${settings.role}${description === '' ? '' : ` (${description})`}. Tools that it lacks are refused when you call them.`,
    `Working directory: ${settings.working_directory}. Sandbox: ${settings.sandbox_mode}.`,
    `Plan of ${agent.id}: ${plan.length === 0 ? 'none' : plan.join('; ')}.`,
    `Open agents of ${agent.id}: ${open.length === 0 ? 'none' : open.join(', ')}.`,
    'Your task follows; do nothing but that.',
  ];
  return {
    kind: 'fork',
    agent_id: agent.id,
    run_id: workflowInfo().runId,
    to: settledCount(agent.conversation),
    notice: lines.join('\n'),
  };
}

function chooseId(agent: AgentState, role: string, name: string | undefined): AgentId {
  if (name === undefined) {
    const kind = segmentOf(role);
    for (;;) {
      const id = childId(agent.id, `${kind}-${agent.children.nextNumber(kind)}`);
      if (agent.children.get(id) === undefined) return id;
    }
  }
  if (!isChildName(name)) {
    throw new Refused({
      code: 'invalid_arguments',
      message: `"${name}" cannot be an agent's name`,
      hint: 'Use letters, digits, dots, dashes and underscores, at most 64.',
    });
  }
  const id = childId(agent.id, name);
  if (agent.children.get(id) !== undefined) {
    throw new Refused({
      code: 'invalid_arguments',
      message: `there has been an agent ${id} before; ids are never reused`,
    });
  }
  return id;
}

/** A role's name as it may stand in an id, whatever the file is called that describes the role. */
function segmentOf(role: string): string {
  const safe = role.replaceAll(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return safe === '' ? 'agent' : safe.slice(0, 48);
}

function defaultNote(settings: AgentSettings, description: string): string {
  const parts = [`agent_type=${settings.role}`];
  if (settings.persona !== undefined) parts.push(`agent_name=${settings.persona}`);
  if (description !== '') parts.push(`agent_description=${description}`);
  return parts.join('; ');
}

function firstView(identity: AgentIdentity, settings: AgentSettings, note: string | undefined): AgentView {
  const at = new Date(Date.now()).toISOString();
  return {
    agent_id: identity.agent_id,
    session_id: identity.session_id as SessionId,
    ...(identity.parent_id === undefined ? {} : { parent_id: identity.parent_id }),
    status: 'pending_init',
    is_final: false,
    closed: false,
    turn: 0,
    step: 0,
    depth: identity.depth,
    role: settings.role,
    ...(settings.persona === undefined ? {} : { persona: settings.persona }),
    ...(identity.name === undefined ? {} : { name: identity.name }),
    ...(note === undefined ? {} : { note }),
    task: identity.task,
    model: settings.model,
    ...(settings.reasoning_effort === undefined ? {} : { reasoning_effort: settings.reasoning_effort }),
    sandbox_mode: settings.sandbox_mode,
    working_directory: settings.working_directory,
    source: identity.source,
    usage: noUsage,
    children: [],
    status_since: at,
    updated_at: at,
  };
}
