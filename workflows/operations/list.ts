import { isBelow, nameOf } from '../../protocol/ids.ts';
import type { AgentView, ListAnswer, ListRequest, WireStatus } from '../../protocol/index.ts';
import { wireStatus } from '../../protocol/status.ts';
import type { AgentState } from '../agent-state.ts';
import { jsonBytes, shortened } from '../carried-text.ts';
import { Refused } from './refused.ts';

export interface ListOptions {
  scope: ListRequest['scope'];
  includeTree: boolean;
  includeClosed: boolean;
}

/** A sub-agent as `list_active_agents` shows it. */
export interface ListedAgent {
  thread_id: string;
  thread_name: string;
  thread_note: string | null;
  agent_type: string;
  agent_name: string | null;
  status: WireStatus;
  status_duration_sec: number;
  model: string;
  reasoning_effort: string | null;
  /** ISO 8601. */
  updated_at: string;
  parent_thread_id?: string;
  depth?: number;
}

export interface ListResult {
  agents: ListedAgent[];
  slots: { used: number; max: number };
  left_out?: string;
}

/** The sub-agents of this session that take input, as the root knows them. */
export async function list(agent: AgentState, options: ListOptions): Promise<ListResult> {
  const answer = await viewsOf(agent, { scope: options.scope, include_closed: options.includeClosed });
  if (answer === undefined) {
    throw new Refused({ code: 'agent_closed', message: `agent ${agent.id} is closing` });
  }
  const now = Date.now();
  return {
    agents: answer.agents.map((view) => listed(view, now, options.includeTree)),
    slots: answer.slots,
    ...(answer.left_out === undefined ? {} : { left_out: `${answer.left_out} more agents` }),
  };
}

/** The root's answer. */
export function answerList(root: AgentState, request: ListRequest): ListAnswer {
  const { tree } = root;
  const views = (tree?.views ?? []).filter(
    (view) => isInScope(view, request) && (request.include_closed || isActive(view)),
  );
  let room = LIST_BYTES;
  const agents = views
    .map(({ message, ...view }) =>
      message === undefined ? view : { ...view, message: shortened(message, MESSAGE_LISTED) },
    )
    .filter((view) => {
      room -= jsonBytes(view) + 1;
      return room >= 0;
    });
  const leftOut = views.length - agents.length;
  return {
    request_id: request.request_id,
    agents,
    ...(leftOut === 0 ? {} : { left_out: leftOut }),
    slots: { used: tree?.slots.used ?? 0, max: tree?.slots.max ?? 0 },
  };
}

/** A list is for finding agents; the whole answer comes from `wait`. */
const MESSAGE_LISTED = 300;
/** As much goes from the root to whoever asks, in one signal. */
const LIST_BYTES = 1_000_000;

/** How sub-agents of this session stand, as the root knows them; undefined when this agent closes first. */
export async function viewsOf(
  agent: AgentState,
  which: Pick<ListRequest, 'scope' | 'include_closed'>,
): Promise<ListAnswer | undefined> {
  const request = { request_id: agent.nextId('requests'), from: agent.id, ...which };
  if (agent.isRoot) return answerList(agent, request);
  return agent.askRoot({ type: 'list', request }, agent.listAnswers, request.request_id);
}

function isInScope(view: AgentView, { scope, from }: ListRequest): boolean {
  switch (scope) {
    case 'children':
      return view.parent_id === from;
    case 'descendants':
      return isBelow(view.agent_id, from);
    case 'all':
      return true;
  }
}

/** Those that have completed or failed wait for input, so they count. */
function isActive(view: AgentView): boolean {
  return !view.closed && view.status !== 'shutdown' && view.status !== 'not_found';
}

function listed(view: AgentView, now: number, withTree: boolean): ListedAgent {
  return {
    thread_id: view.agent_id,
    thread_name: view.name ?? nameOf(view.agent_id),
    thread_note: view.note ?? null,
    agent_type: view.role,
    agent_name: view.persona ?? null,
    status: wireStatus(view.status, view.message),
    status_duration_sec: Math.max(0, Math.round((now - Date.parse(view.status_since)) / 1000)),
    model: view.model,
    reasoning_effort: view.reasoning_effort ?? null,
    updated_at: view.updated_at,
    ...(withTree && view.parent_id !== undefined ? { parent_thread_id: view.parent_id } : {}),
    ...(withTree ? { depth: view.depth } : {}),
  };
}
