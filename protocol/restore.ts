import type { AgentIdentity } from './agent-identity.ts';
import type { ErrorBody } from './errors.ts';
import type { AgentId } from './ids.ts';
import type { Item } from './items.ts';
import type { AgentSettings, SessionSettings } from './settings.ts';
import type { Status } from './status.ts';
import type { ItemsPage } from './views.ts';

/** Where a new run finds what an agent was before: the agent's own earlier run, or another agent's conversation. */
export type Restore =
  | { kind: 'resume'; run_id: string }
  /** The first `to` items of that agent. */
  | {
      kind: 'fork';
      agent_id: AgentId;
      run_id: string;
      to: number;
      /** Told to the model behind those items: where it stands now. */
      notice?: string;
    };

/**
 * A page of the `snapshot` query: all that is needed to resume or fork an agent. `state` is the agent's own, opaque to
 * others, with an empty conversation; the items come page by page, as from the `items` query.
 */
export interface SnapshotPage {
  identity: AgentIdentity;
  settings: AgentSettings;
  /** At the root only. */
  session?: SessionSettings;
  status: Status;
  closed: boolean;
  note?: string;
  /** Children that were open when it closed, and were closed with it. */
  open_children: AgentId[];
  state: unknown;
  page: ItemsPage;
}

/** Activity `read_snapshot`: an agent's state and whole conversation, from a run of it. */
export interface SnapshotRequest {
  agent_id: AgentId;
  run_id: string;
}
export interface SnapshotAnswer {
  state: unknown;
  items: Item[];
}

/** Activity `read_items`: the first `to` items of an agent's conversation. */
export interface ItemsRequest {
  agent_id: AgentId;
  run_id: string;
  to: number;
}
export interface ItemsAnswer {
  items: Item[];
}

/** Activity `find_closed_agent`: what is needed to start a closed agent again. */
export interface ClosedAgentRequest {
  agent_id: AgentId;
}
export type ClosedAgentAnswer =
  | {
      ok: true;
      run_id: string;
      identity: AgentIdentity;
      settings: AgentSettings;
      note?: string;
      status: Status;
      open_children: AgentId[];
    }
  /** `agent_not_found`, or `agent_not_resumable`: neither retention nor a rollout has it. */
  | { ok: false; error: ErrorBody };
