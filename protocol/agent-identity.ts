import type { AgentId, SessionId } from './ids.ts';
import type { Source } from './settings.ts';

/** Who an agent is; never changes. */
export interface AgentIdentity {
  agent_id: AgentId;
  session_id: SessionId;
  parent_id?: AgentId;
  /** The turn of the parent in which it was spawned; absent outside of one. */
  parent_turn?: number;
  depth: number;
  source: Source;
  /** A name given by the caller. */
  name?: string;
  /** When it was started first, ISO 8601; its runs and lives each have a start of their own. */
  started_at?: string;
  /** The tool call that spawned it. */
  call_id?: string;
  /** The first 200 characters of the first input. */
  task: string;
  /** Search attributes that the namespace knows; upserting another one would fail the workflow task for ever. */
  search_attributes: string[];
}
