import type { AgentIdentity } from './agent-identity.ts';
import { CadreError, type ErrorBody } from './errors.ts';
import type { AgentId } from './ids.ts';
import type { Item } from './items.ts';
import type { AgentSettings, SessionSettings } from './settings.ts';
import type { Status } from './status.ts';
import type { ItemsPage } from './views.ts';

/** Where a new run finds what an agent was before: the agent's own earlier run, or another agent's conversation. */
export type Restore =
  | {
      kind: 'resume';
      run_id: string;
      /** `seq` of the newest report by which others know it: its reports go on behind that one. */
      reports?: number;
    }
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
  /** Children that were open when it ended; those of an agent that closed were closed with it. */
  open_children: AgentId[];
  /** `seq` of its newest report. */
  reports: number;
  /** This run has not come so far as to know what the agent was: it stands where this leads. */
  unrestored?: Restore;
  state: unknown;
  page: ItemsPage;
}

/** Whether the server says that an execution has ended of which no worker has ever seen anything. */
export function endedUnborn(reason: string): boolean {
  return /closed before WorkflowTaskStarted/i.test(reason);
}

/**
 * Looks for what an agent was, from its newest run back: a run that could not bring it back only leads further.
 *
 * @param ask a run for its `snapshot`
 * @throws CadreError `agent_not_resumable` for a fork that has never come up
 */
export async function findLastLife(
  newest: string,
  ask: (runId: string) => Promise<SnapshotPage>,
): Promise<{ runId: string; snapshot: SnapshotPage; reports: number }> {
  let runId = newest;
  let reports = 0;
  for (;;) {
    const snapshot = await ask(runId);
    reports = Math.max(reports, snapshot.reports);
    const { unrestored, identity } = snapshot;
    if (unrestored === undefined) return { runId, snapshot, reports };
    if (unrestored.kind === 'fork') {
      const { agent_id: id } = identity;
      const { agent_id: of } = unrestored;
      throw new CadreError(
        'agent_not_resumable',
        `agent ${id} never got the conversation of ${of} that it was to go on from`,
        { hint: `Fork ${of} again.` },
      );
    }
    runId = unrestored.run_id;
  }
}

/** Activity `read_snapshot`: an agent's state, from a run of it, and how long its conversation was at that moment. */
export interface SnapshotRequest {
  agent_id: AgentId;
  run_id: string;
}
export interface SnapshotAnswer {
  state: unknown;
  total: number;
}

/**
 * Activity `read_items`: items of an agent's conversation, at least one, in order. Where those up to `to` are too many
 * for one answer, the next one begins behind them.
 */
export interface ItemsRequest {
  agent_id: AgentId;
  run_id: string;
  from: number;
  to: number;
}
export interface ItemsAnswer {
  items: Item[];
}

/** An agent that was to come back, and did not. */
export interface NotResumed {
  agent_id: AgentId;
  error: ErrorBody;
}

/** What a resume has brought back, and with `recursive` what was to come back as well and did not. */
export interface BroughtBack {
  /** Parents before their children; empty where the agent was open. */
  resumed: AgentId[];
  not_resumed: NotResumed[];
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
      /** Whether it closed; if not, it was ended from outside, and what is below it may still run. */
      closed: boolean;
      open_children: AgentId[];
      reports: number;
    }
  /** `agent_not_found`, or `agent_not_resumable`: neither retention nor a rollout has it. */
  | { ok: false; error: ErrorBody };
