import { nameOf } from '../protocol/ids.ts';
import type { AgentIdentity, AgentSettings, AgentView, SessionSettings } from '../protocol/index.ts';
import { noUsage } from '../protocol/usage.ts';
import type { Standing } from './standing.ts';

/** What of an agent shows. */
interface Visible {
  identity: AgentIdentity;
  /** At the root only. */
  session: SessionSettings | undefined;
  settings: AgentSettings;
  standing: Standing;
  inbox: { hasInput: boolean };
  children: { ids: AgentView['children'] };
  questions: { size: number };
  running: object | undefined;
  closing: object | undefined;
}

/** How an agent stands, as it says itself. */
export function viewOf(agent: Visible): AgentView {
  const { identity, standing, settings } = agent;
  // What waits for a slot: the last turn's end is no longer the last word.
  const waits = standing.queued || agent.inbox.hasInput;
  const about = standing.isFinal && agent.closing === undefined && waits;
  // Of what waits side by side, people need to see most what waits for them.
  const waitingFor = agent.questions.size > 0 ? 'approval' : standing.waitingFor;
  return {
    ...portraitOf(identity, settings, standing.note),
    name: identity.name ?? nameOf(identity.agent_id),
    status: about ? 'pending_init' : standing.status,
    ...(about || standing.message === undefined ? {} : { message: standing.message }),
    is_final: standing.isFinal && !about,
    closed: standing.closed,
    ...(isIdle(agent) ? { idle: true } : {}),
    ...(standing.queued || about ? { queued: true } : {}),
    ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }),
    ...(standing.currentTool === undefined ? {} : { current_tool: standing.currentTool }),
    turn: standing.turn,
    step: standing.step,
    usage: standing.usage,
    children: agent.children.ids,
    ...(agent.session?.one_shot === true ? { one_shot: true } : {}),
    status_since: new Date(standing.since).toISOString(),
    updated_at: new Date(standing.updated).toISOString(),
  };
}

/** It has had no turn, and none is about to begin. */
function isIdle({ standing, inbox, running, closing }: Visible): boolean {
  if (standing.status !== 'pending_init' || standing.queued) return false;
  return !inbox.hasInput && running === undefined && closing === undefined;
}

/**
 * How an agent stands that is about to start.
 *
 * @param opened it starts no turn
 */
export function firstView(
  identity: AgentIdentity,
  settings: AgentSettings,
  note: string | undefined,
  opened = false,
): AgentView {
  const at = new Date(Date.now()).toISOString();
  return {
    ...portraitOf(identity, settings, note),
    ...(identity.name === undefined ? {} : { name: identity.name }),
    status: 'pending_init',
    is_final: false,
    closed: false,
    ...(opened ? { idle: true } : {}),
    turn: 0,
    step: 0,
    usage: noUsage,
    children: [],
    status_since: at,
    updated_at: at,
  };
}

/** What of an agent does not depend on what it does. */
function portraitOf(identity: AgentIdentity, settings: AgentSettings, note: string | undefined) {
  const { agent_id, session_id, parent_id, depth, task, source } = identity;
  const { role, persona, model, reasoning_effort, sandbox_mode, working_directory, limits, presented } =
    settings;
  return {
    agent_id,
    session_id,
    ...(parent_id === undefined ? {} : { parent_id }),
    depth,
    role,
    ...(persona === undefined ? {} : { persona }),
    ...(note === undefined ? {} : { note }),
    task,
    model,
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    sandbox_mode,
    working_directory,
    ...(presented === undefined ? {} : { forked: true as const }),
    source,
    ...(limits.max_tokens === undefined ? {} : { max_tokens: limits.max_tokens }),
  };
}
