import type {
  AgentEvent,
  AgentId,
  AgentSettingsInput,
  AgentView,
  ContentPart,
  ItemsPage,
  SessionSettingsInput,
  Source,
  Status,
  TreeView,
  Usage,
} from '../protocol/index.ts';

export interface StartOptions {
  task: string | ContentPart[];
  /** The task queue whose workers run the session. */
  queue: string;
  /** `model`, `provider` and `working_directory` at least; the rest has the contract's defaults. */
  settings: AgentSettingsInput;
  /** Default: an agent that stays open, and the search attributes that the namespace knows. */
  session?: SessionSettingsInput;
  /** Default: `api`. */
  source?: Source;
  note?: string;
  /** Default: a new root id. */
  id?: AgentId;
}

export interface SendOptions {
  interrupt?: boolean;
  /** The same id twice is delivered once; default: a new one. */
  id?: string;
}

export interface CloseResult {
  /** The status before closing. */
  status: Status;
  message?: string;
  closed: AgentId[];
}

export interface WaitOptions {
  /** Milliseconds; none: no end. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** What a session ended with: the result of the root's workflow. */
export interface SessionResult {
  session_id: AgentId;
  status: Status;
  /** The final text, or the reason beside the status. */
  output: string;
  /** Of the whole session. */
  usage: Usage;
  /** The code of what ended it, when it did not complete (`limit_steps`, `model_unreachable`, …). */
  code?: string;
  /** A call was refused since nobody could be asked. */
  approval_missing?: boolean;
}

export interface ListFilter {
  /** Closed ones too. */
  all?: boolean;
  status?: Status;
  role?: string;
  session?: AgentId;
  limit?: number;
}

/** What a list knows of an agent without asking it. */
export type AgentSummary = Pick<
  AgentView,
  'agent_id' | 'session_id' | 'parent_id' | 'status' | 'closed' | 'depth' | 'role' | 'model' | 'task' | 'note'
> & { started_at: string; ended_at?: string; queue: string };

/** One agent, seen from outside. Every method throws `CadreError`: `agent_not_found`, `no_worker`, `temporal_unreachable`, … */
export interface Agent {
  readonly id: AgentId;
  send(input: string | ContentPart[], options?: SendOptions): Promise<{ submission_id: string }>;
  interrupt(reason?: string): Promise<void>;
  close(reason?: string): Promise<CloseResult>;
  setNote(note: string): Promise<string | null>;
  status(): Promise<AgentView>;
  tree(): Promise<TreeView>;
  items(range?: { from?: number; to?: number }): Promise<ItemsPage>;
  /** Resolves when the agent is final; undefined when the time is up first. */
  wait(options?: WaitOptions): Promise<AgentView | undefined>;
  /** Events from `after` on; with `follow` until the agent is closed. */
  events(options?: { after?: number; follow?: boolean; signal?: AbortSignal }): AsyncIterable<AgentEvent>;
  /** The agent's view each time its status changes, until it is closed. */
  statuses(options?: { signal?: AbortSignal }): AsyncIterable<AgentView>;
  /** Each agent of the tree, once, as soon as it is known: those that are there, then those that come. */
  agents(options?: { signal?: AbortSignal }): AsyncIterable<AgentView>;
  /** Resolves when a session has ended (a root that was closed). */
  result(): Promise<SessionResult>;
  /** The task queue that this agent lives on, and whether its workflow has ended. */
  describe(): Promise<{ queue: string; closed: boolean; run_id: string }>;
}
