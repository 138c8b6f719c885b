import type { AgentEvent } from './events.ts';
import type { AgentId, SessionId } from './ids.ts';
import type { Item } from './items.ts';
import type { SandboxMode } from './sandbox-modes.ts';
import type { ReasoningEffort, Source } from './settings.ts';
import type { Status, WaitingFor } from './status.ts';
import type { Usage } from './usage.ts';

/** An agent as the `status` query shows it. Times are ISO 8601. */
export interface AgentView {
  agent_id: AgentId;
  session_id: SessionId;
  parent_id?: AgentId;
  status: Status;
  /** The text beside the status: last message, or reason. */
  message?: string;
  is_final: boolean;
  /** Takes no input until resumed. */
  closed: boolean;
  /** It was opened, has nothing to do yet, and does nothing until it gets input. */
  idle?: boolean;
  /** Waiting for a slot. */
  queued?: boolean;
  waiting_for?: WaitingFor;
  /** The tool that runs, with what it works on, e.g. `shell · npm test`. */
  current_tool?: string;
  turn: number;
  step: number;
  depth: number;
  role: string;
  persona?: string;
  name?: string;
  note?: string;
  task?: string;
  model: string;
  reasoning_effort?: ReasoningEffort;
  sandbox_mode: SandboxMode;
  working_directory: string;
  /** It has begun with a copy of its parent's conversation. */
  forked?: true;
  source: Source;
  usage: Usage;
  /** Tokens that it may use together with all agents below it: a share, or what bounds the whole session. */
  max_tokens?: number;
  children: AgentId[];
  /** A root that closes by itself when all has settled. */
  one_shot?: boolean;
  status_since: string;
  updated_at: string;
}

export interface TreeView {
  agents: AgentView[];
  /** Not asked at the root: only the agent itself and its children. */
  partial?: boolean;
  slots?: { used: number; max: number };
}

/** How many items a summary has replaced in a run. */
export interface ReplacedItems {
  run_id: string;
  items: number;
}

export interface ItemsPage {
  items: Item[];
  /** Index of the first item of this page. */
  from: number;
  /** Where the next page starts; absent on the last. */
  next?: number;
  total: number;
  /** Items that a summary has replaced, in all. */
  compacted: number;
  /** Which runs of the workflow hold those: the query `items` with `replaced` shows those of the run that is asked. */
  replaced_in?: ReplacedItems[];
}

export interface EventsPage {
  events: AgentEvent[];
  /** Pass as `after` next time. */
  next: number;
  /** How many events after the given `seq` are no longer held. */
  dropped?: number;
}
