import type {
  AgentEvent,
  AgentId,
  AgentSettingsInput,
  AgentView,
  Approval,
  BroughtBack,
  ContentPart,
  Item,
  ItemsPage,
  NotClosed,
  SessionSettings,
  SessionSettingsInput,
  Source,
  Status,
  TreeView,
  Usage,
  WorkerBuild,
} from '../protocol/index.ts';

import type { Rollouts } from '../rollout/rollouts.ts';

export interface StartOptions {
  task: string | ContentPart[];
  /** The task queue whose workers run the session; `hostQueue(queue, host)` for one that lives on a host. */
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
  /** The same id twice is delivered once, among the newest 2,000 of an agent; default: a new one. */
  id?: string;
}

export interface CloseResult {
  /** The status before closing. */
  status: Status;
  message?: string;
  /** Leaf first. */
  closed: AgentId[];
  /** What could not be ended, with the reason; it works on. */
  not_closed?: NotClosed[];
}

export interface ResumeOptions {
  /** What was open below it when it closed comes back, too. */
  recursive?: boolean;
  /** Sent to it as soon as it is back. */
  input?: string | ContentPart[];
  /** Where a root is found that Temporal keeps no longer; the workers need it there, too. */
  rollouts?: Rollouts;
  /** Where such a root goes on; default: the queue that it lived on. */
  queue?: string;
}

export interface ResumeResult extends BroughtBack {
  /** As it stands after that. */
  status: Status;
  message?: string;
  /** Of the input, where there was one. */
  submission_id?: string;
}

export interface ForkOptions {
  /** The new conversation ends just before the nth user message, counted from 1; default: it is the whole one. */
  beforeMessage?: number;
  /** The first input of the new agent; without one it waits. */
  input?: string | ContentPart[];
  /** What lists show; default: the input, or the task of the agent that is forked. */
  task?: string;
  /** Default: the task queue of the agent that is forked. */
  queue?: string;
  /** Where an agent is found that Temporal keeps no longer; the workers need its rollout there, too. */
  rollouts?: Rollouts;
  /** What differs from the session that is forked. With an input, one that is one-shot stays so. */
  session?: Partial<SessionSettings>;
  /** Default: `api`. */
  source?: Source;
  /** Default: a new root id. */
  id?: AgentId;
}

/** What a tool answered; `output` is what a model would have read. */
export interface CallResult {
  success: boolean;
  output: string;
  /** The fields of an output that is a JSON object, which models read as text. */
  structured?: Record<string, unknown>;
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
  /** Only those that run on though somebody above them was ended from outside; `all` means nothing then. */
  orphans?: boolean;
  status?: Status;
  role?: string;
  session?: AgentId;
  limit?: number;
}

/** What a list knows of an agent without asking it. */
export type AgentSummary = Pick<
  AgentView,
  'agent_id' | 'session_id' | 'parent_id' | 'status' | 'closed' | 'depth' | 'role' | 'model' | 'task' | 'note'
> & {
  source?: Source;
  started_at: string;
  ended_at?: string;
  queue: string;
  /** The key that what it was given is sealed with, where that key is not here, or another one of its id is. */
  missing_key?: string;
  /** Which of the two. */
  missing_key_reason?: string;
  /** What Temporal reports of an agent that stands still since its workers fail, such as `NonDeterministicError`. */
  problem?: string;
};

/** An activity of an agent that has failed and is tried again. */
export interface Retry {
  /** `model`, or the name of a tool. */
  activity: string;
  /** The attempt that comes next, or is under way. */
  attempt: number;
  /** Why the last one failed. */
  reason: string;
  /** ISO 8601; absent while an attempt is under way. */
  next_at?: string;
}

/** Why an agent stands still although there are workers: they fail at its workflow task again and again. */
export interface TaskFailure {
  /** Which attempt is under way, or comes next. */
  attempt: number;
  /** What the worker said that failed. */
  message: string;
  /** The code of that worker does not fit what the agent has recorded. */
  of_other_version: boolean;
}

/** What Temporal's server knows of an agent without asking it. */
export interface AgentDescription {
  queue: string;
  /** At a root whose session hands its model calls out: the queue that they go to. */
  model_queue?: string;
  closed: boolean;
  run_id: string;
  /** With worker versioning: the one whose workers alone go on with it; absent before it has begun. */
  build?: WorkerBuild;
  retries: Retry[];
  /** Absent for an agent that goes on, or only lacks a worker. */
  task_failure?: TaskFailure;
  /** What its model is saying just now; absent while it says nothing. */
  streaming?: Streaming;
}

/** The end of an answer that a model has begun to give: up to 2,000 characters, every 0.25 s. */
export interface Streaming {
  /** The model call, and which attempt at it: another one begins anew. */
  call: string;
  text: string;
  /** Where `text` begins in the whole answer, in characters. */
  offset: number;
}

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
  /** Also the items that summaries have replaced; those that Temporal keeps no longer are `agent_not_found`. */
  wholeConversation(): AsyncGenerator<Item>;
  /** Asks for a summary of all but the newest items, which its model writes before its next step. */
  compact(): Promise<{ submission_id: string }>;
  /** The questions that wait for a person: of the whole session at a root, else of this agent. */
  approvals(): Promise<Approval[]>;
  /** Brings it back when it is closed; one that is open stays as it is, and gets the input. */
  resume(options?: ResumeOptions): Promise<ResumeResult>;
  /** A new root that goes on from this agent's conversation; this one stays as it is. */
  fork(options?: ForkOptions): Promise<ForkedAgent>;
  /** Calls a tool as if the agent's model had; arguments as an object, or as JSON text. */
  call(tool: string, args: Record<string, unknown> | string): Promise<CallResult>;
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
  describe(): Promise<AgentDescription>;
}

/** A new root that begins where another agent's conversation was, with what was really taken of that. */
export interface ForkedAgent extends Agent {
  /** `fresh` where nothing of the conversation was taken along. */
  readonly context_mode: 'fresh' | 'forked';
  /** How many items of the conversation it begins with. */
  readonly items_carried: number;
}
