import type { ApprovalNeed } from './approvals.ts';
import type { ErrorBody } from './errors.ts';
import type { PlanStep } from './events.ts';
import type { AgentId, SessionId } from './ids.ts';
import type { NotClosed } from './internal.ts';
import type { ImageFile, Item, ToolCall, ToolOutput } from './items.ts';
import type {
  ClosedAgentAnswer,
  ClosedAgentRequest,
  ItemsAnswer,
  ItemsRequest,
  SnapshotAnswer,
  SnapshotRequest,
} from './restore.ts';
import type { ArchiveAnswer, ArchiveRequest, RolloutAnswer, RolloutRequest } from './rollout.ts';
import type { SandboxMode } from './sandbox-modes.ts';
import type { AgentSettings, ApprovalPolicy } from './settings.ts';
import type { Usage } from './usage.ts';

/** Where a conversation is found, and the proof that what was found is it. */
export interface ConversationPointer {
  agent_id: AgentId;
  /** The run whose `items` query holds the prefix. */
  run_id: string;
  /** How many items the conversation has, the fresh ones included. */
  count: number;
  /** Digest over all of them, see protocol/digest.ts. */
  digest: string;
}

/** What one agent is to an activity: enough to resolve its instructions and tools, never their text. */
export interface AgentContext {
  agent_id: AgentId;
  session_id: SessionId;
  depth: number;
  turn: number;
  step: number;
  /** It has to make a plan before it hands out work (`plan_first`), and has made none. */
  plan_due?: true;
  settings: AgentSettings;
}

/**
 * The same as it travels: the settings go with the first call of a run and are remembered by the worker, which asks
 * the agent for them (`_settings`) when it has not seen that call. So they do not enter the history again and again.
 */
export type AgentReference = Omit<AgentContext, 'settings'> & { settings?: AgentSettings };
/** A request as the workflow sends it. */
export type Wire<R extends { agent: AgentContext }> = Omit<R, 'agent'> & { agent: AgentReference };

/**
 * The output of a tool whose text already stands in the history, as the result of the tool's activity. The worker that
 * ran it remembers the text; another one reads it from the agent.
 */
export interface OutputReference {
  type: 'output_reference';
  /** The item with an empty text in place; the digest heeds the order of its fields. */
  of: ToolOutput;
}
export type FreshItem = Item | OutputReference;

export interface ModelRequest {
  agent: AgentContext;
  pointer: ConversationPointer;
  /** The newest items: those which the last model call of this agent neither saw nor made. */
  fresh: FreshItem[];
  /** Offer no tools: the turn's steps are used up and this call asks for a hand-back. */
  final: boolean;
  /** Asks for a summary of the conversation instead, which is no part of it. */
  summary?: boolean;
}

/** What a model asked for, checked: how the workflow runs one tool call. */
export type PlannedCall =
  /** Runs as the activity of that name. */
  | {
      kind: 'activity';
      call_id: string;
      name: string;
      effects: ToolEffects;
      timeout_ms: number;
      summary: string;
      /** What the model is told beside that the outcome is unknown, where its worker is lost. */
      if_lost?: string;
      /** It is for a command that goes on between calls, and runs where that is held. */
      command_session?: number;
    }
  /** An operation on the tree: the workflow does it; the arguments are already checked by the dialect. */
  | { kind: 'operation'; call_id: string; name: string; arguments: unknown; summary: string }
  /** Answered at once with this error. */
  | { kind: 'refused'; call_id: string; name: string; error: ErrorBody; summary: string };

/** `none` may run beside others and be retried; `some` runs alone and at most once. */
export type ToolEffects = 'none' | 'some';

export interface ModelAnswer {
  items: Item[];
  /** One per tool_call in `items`, in order. */
  calls: PlannedCall[];
  usage: Usage;
  /** With this answer the conversation nearly fills the model's window. */
  nearly_full?: true;
  /** What people should know of how the call was made: each becomes an event. */
  warnings?: string[];
}

export interface ToolRequest {
  agent: AgentContext;
  call: ToolCall;
  /** A person has allowed what the first attempt asked for. */
  approved?: boolean;
}

export interface ToolAnswer {
  output: string;
  success: boolean;
  /** Set when the output was cut; names the stored whole. */
  handle?: string;
  /** `update_plan` only. */
  plan?: { plan: PlanStep[]; explanation?: string };
  /** What the model is shown with it. */
  image?: ImageFile;
  /** A command that goes on, or has ended; `queue` is where its worker is found, if not on that of the agent. */
  command_session?: { id: number; open: boolean; queue?: string };
  /** Nothing was done: a person has to allow it first. The workflow asks, and calls again with `approved`. */
  needs_approval?: ApprovalNeed;
  /** A refusal that would have needed an approval: the run's exit code depends on it. */
  approval_missing?: boolean;
}

/** Ends the commands of an agent that go on between calls, on the worker that this gets to. */
export interface EndCommandsRequest {
  agent_id: AgentId;
}

/** Asks what a role is before an agent of it is started. */
export interface RoleRequest {
  session_id: SessionId;
  /** The live settings of the parent: what the child inherits. */
  inherited: AgentSettings;
  /** It has `project_docs`, which are not sent along: a child in the same folder takes them over as they are. */
  has_project_docs?: boolean;
  role: string | undefined;
  persona?: string;
  model?: string;
  reasoning_effort?: string;
  working_directory?: string;
  /** What the call asks for, never looser than what is inherited. */
  sandbox_mode?: SandboxMode;
  approval_policy?: ApprovalPolicy;
  /** The tools that the call allows, of those that the role leaves. */
  allowed_tools?: string[];
  /** A person has allowed the other working directory. */
  approved?: boolean;
  /** The text of a role that comes with Cadre is wanted, too; that of a file stands in the settings. */
  with_text?: boolean;
}

/** The settings of the new agent, or why there can be none. */
export type RoleAnswer =
  | {
      ok: true;
      settings: AgentSettings;
      description: string;
      /** What a built-in role says, where it was asked for. */
      text?: string;
      /** Where the rollout of the session goes when it closes; absent where none is written. */
      rollout_path?: string;
      /** What was asked for and is not there, of what the agent can do without. */
      notices?: string[];
    }
  | { ok: false; error: ErrorBody; needs_approval?: ApprovalNeed };

/** A call that a person or a program made up (`cadre call`), checked as one of the model's would be. */
export interface PlanRequest {
  agent: AgentContext;
  call: ToolCall;
}

/** Ends an agent and all that runs below it. */
export interface TerminateRequest {
  agent_id: AgentId;
  reason: string;
  /** The agent itself has ended already, or is not meant. */
  only_below?: boolean;
  /** Agents below it that are known to have been there: the server takes a moment to list one that was just started. */
  known?: AgentId[];
}
export interface TerminateAnswer {
  terminated: AgentId[];
}
/** Detail of its failure: what could be ended has been. */
export interface TerminateProblem extends TerminateAnswer {
  not_terminated: NotClosed[];
}

/** Which of these agents have ended, whatever they have said last? */
export interface EndedRequest {
  agents: AgentId[];
}
export interface EndedAnswer {
  ended: AgentId[];
}

/** Texts that are too long for a conversation, to be kept where the agents' tools keep theirs. */
export interface StoreRequest {
  texts: string[];
}
/** For each of them its handle, or why it could not be kept. */
export interface StoreAnswer {
  stored: ({ handle: string } | { problem: string })[];
}

/** Activities that are not tools. Tools are activities under their own names, `ToolRequest` to `ToolAnswer`. */
export interface CoreActivities {
  model(request: Wire<ModelRequest>): Promise<ModelAnswer>;
  resolve_role(request: RoleRequest): Promise<RoleAnswer>;
  terminate_agents(request: TerminateRequest): Promise<TerminateAnswer>;
  plan_call(request: Wire<PlanRequest>): Promise<PlannedCall>;
  read_snapshot(request: SnapshotRequest): Promise<SnapshotAnswer>;
  read_items(request: ItemsRequest): Promise<ItemsAnswer>;
  find_closed_agent(request: ClosedAgentRequest): Promise<ClosedAgentAnswer>;
  find_ended(request: EndedRequest): Promise<EndedAnswer>;
  store_outputs(request: StoreRequest): Promise<StoreAnswer>;
  archive_agent(request: ArchiveRequest): Promise<ArchiveAnswer>;
  write_rollout(request: RolloutRequest): Promise<RolloutAnswer>;
  end_commands(request: EndCommandsRequest): Promise<void>;
}
