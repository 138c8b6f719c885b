import type { AgentIdentity } from './agent-identity.ts';
import type { ErrorCode } from './errors.ts';
import type { AgentId, SessionId } from './ids.ts';
import type { NotClosed } from './internal.ts';
import type { ContentPart } from './items.ts';
import type { Restore } from './restore.ts';
import type { AgentSettings, SessionSettings } from './settings.ts';
import type { Status } from './status.ts';
import type { Usage } from './usage.ts';

/** What the `agent` workflow starts with. `carry` is set by the workflow itself when it continues as new. */
export interface AgentInput<Carry = unknown> {
  identity: AgentIdentity;
  settings: AgentSettings;
  /** At the root only. */
  session?: SessionSettings;
  note?: string;
  /** The first input; an agent that is resumed or forked may start without one. */
  input?: { id: string; content: ContentPart[]; from?: string };
  /** It starts no turn: its first input waits for the next one, and is delivered before it. */
  opened?: true;
  /** Read by the agent itself before anything else. */
  restore?: Restore;
  /** Whether whoever spawned it has got the slot for its first turn, or only a place in the queue. */
  slot?: 'granted' | 'queued';
  carry?: Carry;
}

/** What the `agent` workflow ends with, once the agent is closed. */
export interface AgentResult {
  agent_id: AgentId;
  session_id: SessionId;
  status: Status;
  /** The last answer, or the reason beside the status. */
  output: string;
  /** Of this agent; at the root, of the whole session. */
  usage: Usage;
  code?: ErrorCode;
  approval_missing?: boolean;
  /** Everything below it that closed with it, leaf first, itself last. */
  closed: AgentId[];
  /** What could not be ended, and works on. */
  not_closed?: NotClosed[];
}

/** How much of a task stands in lists and memos. */
export const TASK_SHOWN = 200;

/** What lists tell of an agent beside its search attributes; Temporal takes it along into further runs. */
export function memoOf({ task, started_at }: AgentIdentity, note: string | undefined) {
  return { task, note: note ?? null, ...(started_at === undefined ? {} : { started_at }) };
}

/** The registered search attributes, by what they hold. */
export const SEARCH_ATTRIBUTES = {
  CadreSession: 'KEYWORD',
  CadreParent: 'KEYWORD',
  CadreRole: 'KEYWORD',
  CadreStatus: 'KEYWORD',
  CadreModel: 'KEYWORD',
  CadreDepth: 'INT',
} as const;
export type SearchAttributeName = keyof typeof SEARCH_ATTRIBUTES;

/** The search attributes of a new agent, as far as the namespace knows them. */
export function searchAttributesOf(
  identity: AgentIdentity,
  settings: Pick<AgentSettings, 'role' | 'model'>,
): { name: SearchAttributeName; value: string | number }[] {
  const all: { name: SearchAttributeName; value: string | number }[] = [
    { name: 'CadreSession', value: identity.session_id },
    { name: 'CadreParent', value: identity.parent_id ?? '' },
    { name: 'CadreRole', value: settings.role },
    { name: 'CadreStatus', value: 'pending_init' },
    { name: 'CadreModel', value: settings.model },
    { name: 'CadreDepth', value: identity.depth },
  ];
  return all.filter((pair) => identity.search_attributes.includes(pair.name) && pair.value !== '');
}
