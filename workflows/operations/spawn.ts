import { WorkflowIdReusePolicy } from '@temporalio/workflow';
import { TASK_SHOWN } from '../../protocol/agent-input.ts';
import type {
  AgentId,
  AgentIdentity,
  AgentInput,
  AgentSettings,
  AgentView,
  EffectiveSettings,
} from '../../protocol/index.ts';
import { plainText } from '../../protocol/items.ts';
import { fittingNote, NOTE_MAX, normalizeNote } from '../../protocol/note.ts';
import { wireStatus } from '../../protocol/status.ts';
import { lengthProblem } from '../../protocol/text-length.ts';
import type { AgentState } from '../agent-state.ts';
import { firstView } from '../agent-view.ts';
import { emitStatus } from '../announce.ts';
import { MovesOn } from '../step-under-way.ts';
import { chooseId } from './choose-id.ts';
import { noticeDeath } from './death.ts';
import { effectiveSettings } from './effective-settings.ts';
import { forkOf } from './fork-context.ts';
import { Refused } from './refused.ts';
import { cancelSpawn, reserveForSpawn } from './slot.ts';
import type { SpawnRequest } from './spawn-request.ts';
import { startAgentWorkflow } from './start-agent.ts';
import { LeftBehind, uncut } from './uncut.ts';

export interface SpawnResult {
  id: AgentId;
  /** What it has come to be. */
  settings: AgentSettings;
  /** How many items of this agent's conversation the new one starts with; undefined when it starts afresh. */
  itemsCarried?: number;
  /** Where the rollout of the session goes; undefined where none is written. */
  rolloutPath?: string;
  /** What was asked for and is not there. */
  notices?: string[];
}

/** Starts a sub-agent and answers with its id as soon as it exists; never waits for its work. */
export async function spawn(agent: AgentState, request: SpawnRequest): Promise<SpawnResult> {
  const prompt = plainText(request.content);
  const call = { call_id: request.callId, sender_id: agent.id };
  // One that has asked a person in an earlier run has been told of.
  if (agent.step?.parked(request.callId) === undefined) {
    agent.emit({ type: 'agent.spawn.begin', ...call, prompt });
  }
  const { spawnLine } = agent;
  spawnLine.enter(request.callId);
  try {
    return await start(agent, request, prompt, (id, settings) => {
      const status = wireStatus(agent.children.get(id)?.status ?? 'pending_init');
      const effective = effectiveOf(settings);
      agent.emit({ type: 'agent.spawn.end', ...call, receiver_id: id, prompt, status, effective });
      // It says nothing before the end of its first turn; one that stands in line does.
      if (agent.children.get(id)?.status === 'running') emitStatus(agent, id, 'running');
      agent.onChange();
    });
  } catch (error) {
    if (error instanceof MovesOn || error instanceof LeftBehind) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    agent.emit({ type: 'agent.spawn.end', ...call, prompt, status: 'not_found', error: reason });
    throw error;
  } finally {
    spawnLine.leave(request.callId);
  }
}

function effectiveOf(settings: AgentSettings): EffectiveSettings {
  const { role, persona, model, reasoning_effort, sandbox_mode, working_directory } = settings;
  return {
    role,
    ...(persona === undefined ? {} : { persona }),
    model,
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    sandbox_mode,
    working_directory,
  };
}

/** @param tell called as soon as the agent exists */
async function start(
  agent: AgentState,
  request: SpawnRequest,
  prompt: string,
  tell: (id: AgentId, settings: AgentSettings) => void,
): Promise<SpawnResult> {
  const { limits } = agent.settings;
  if (agent.identity.depth >= limits.max_depth) {
    throw new Refused({
      code: 'limit_depth',
      message: 'Agent depth limit reached. Solve the task yourself.',
      hint: `agents.max_depth is ${limits.max_depth}`,
    });
  }
  const { settings, rollout_path: rolloutPath, notices, ...role } = await effectiveSettings(agent, request);
  request.onRole?.(settings.role);
  // Numbers follow the calls of an answer, whichever of their roles is read first.
  await agent.spawnLine.turnOf(request.callId);
  const id = chooseId(agent, settings.role, request.name);
  agent.starting.add(id);
  agent.spawnLine.leave(request.callId);
  const note = noteOf(agent, id, request.note, defaultNote(settings, role.description));
  const identity: AgentIdentity = {
    agent_id: id,
    session_id: agent.identity.session_id,
    parent_id: agent.id,
    ...(agent.standing.turn === 0 ? {} : { parent_turn: agent.standing.turn }),
    depth: agent.identity.depth + 1,
    source: { kind: 'sub_agent', parent_id: agent.id, depth: agent.identity.depth + 1 },
    ...(request.name === undefined ? {} : { name: request.name }),
    started_at: new Date(Date.now()).toISOString(),
    call_id: request.callId,
    task: prompt.slice(0, TASK_SHOWN),
    search_attributes: agent.identity.search_attributes,
  };
  const restore = request.forkContext === true ? forkOf(agent, id, settings, role) : undefined;
  // From the reservation on nothing may be cut in two; it takes a few milliseconds.
  return uncut(agent, `The start of ${id}`, async () => {
    const slot = await enter(agent, request.callId, firstView(identity, settings, note, request.opened));
    const input: AgentInput = {
      identity,
      settings,
      ...(note === undefined ? {} : { note }),
      input: { id: agent.nextId('inputs'), content: request.content, from: agent.id },
      ...(request.opened === true ? { opened: true } : {}),
      // One that has none yet asks for it with its first turn.
      ...(request.opened === true && slot === 'granted' ? {} : { slot }),
      ...(restore === undefined ? {} : { restore }),
    };
    try {
      const child = await startAgentWorkflow(input, note, WorkflowIdReusePolicy.REJECT_DUPLICATE);
      noticeDeath(agent, id, child, 0);
    } catch (error) {
      agent.children.remove(id);
      cancelSpawn(agent, id);
      const reason = error instanceof Error ? error.message : String(error);
      throw new Refused({ code: 'internal', message: `agent ${id} could not be started: ${reason}` });
    }
    tell(id, settings);
    for (const notice of notices ?? []) agent.warn(`${id}: ${notice}`);
    return {
      id,
      settings,
      ...(rolloutPath === undefined ? {} : { rolloutPath }),
      ...(notices === undefined ? {} : { notices }),
      ...(restore?.kind === 'fork' ? { itemsCarried: restore.to } : {}),
    };
  });
}

/** Gets a slot for an agent that is about to start, and counts it among the children; its id is taken from before on. */
async function enter(agent: AgentState, callId: string, view: AgentView): Promise<'granted' | 'queued'> {
  const { agent_id: id, role } = view;
  try {
    if (agent.closing !== undefined) throw closing(agent);
    const answer = await reserveForSpawn(agent, view, agent.settings.limits.when_full === 'queue');
    if (answer === undefined) {
      cancelSpawn(agent, id);
      throw closing(agent);
    }
    if (answer.outcome === 'refused') throw new Refused(answer.error);
    agent.children.add(id, role, callId, answer.outcome === 'queued', view);
    return answer.outcome;
  } finally {
    agent.starting.delete(id);
  }
}

function closing(agent: AgentState): Refused {
  return new Refused({ code: 'agent_closed', message: `agent ${agent.id} is closing and starts no agents` });
}

/** The note that the call gives. One that cannot be kept is no reason to start no agent. */
function noteOf(
  agent: AgentState,
  id: AgentId,
  given: string | undefined,
  usual: string,
): string | undefined {
  if (given === undefined) return fittingNote(usual);
  const problem = lengthProblem(given.trim(), NOTE_MAX);
  if (problem === undefined) return normalizeNote(given);
  agent.warn(`agent ${id} keeps the usual note, for the one that was given is ${problem}`);
  return fittingNote(usual);
}

function defaultNote(settings: AgentSettings, description: string): string {
  const parts = [`agent_type=${settings.role}`];
  if (settings.persona !== undefined) parts.push(`agent_name=${settings.persona}`);
  if (description !== '') parts.push(`agent_description=${description}`);
  return parts.join('; ');
}
