import type { ApprovalShown, Decided } from './approvals.ts';
import type { AgentId, SessionId } from './ids.ts';
import type { AgentSettings } from './settings.ts';
import type { Status, WireStatus } from './status.ts';
import type { Usage } from './usage.ts';

interface Call {
  call_id: string;
  sender_id: AgentId;
}
interface OneReceiver extends Call {
  receiver_id: AgentId;
}

/** What happened, by type. */
export interface EventBodies {
  'session.started': { source: string; thread_note?: string; model: string; provider: string };
  'turn.started': { turn: number };
  'turn.completed': { turn: number; message: string; duration_ms: number };
  'turn.failed': { turn: number; reason: string; code: string; duration_ms: number };
  'turn.interrupted': { turn: number; reason: string; duration_ms: number };
  message: { role: 'user' | 'assistant'; text: string; from?: string };
  reasoning: { text: string };
  'tool.begin': { call_id: string; name: string; summary: string };
  'tool.end': { call_id: string; name: string; success: boolean; duration_ms: number; output: string };
  'plan.updated': { plan: PlanStep[]; explanation?: string };
  'input.accepted': { submission_id: string; from?: string };
  'input.rejected': { signal: string; reason: string };
  'agent.spawn.begin': Call & { prompt: string };
  'agent.spawn.end': Call & {
    receiver_id?: AgentId;
    prompt: string;
    status: WireStatus;
    error?: string;
    /** What the new agent has come to be; absent where there is none. */
    effective?: EffectiveSettings;
  };
  'agent.input.begin': OneReceiver & { prompt: string };
  'agent.input.end': OneReceiver & { prompt: string; status: WireStatus; error?: string };
  'agent.wait.begin': Call & { receiver_ids: AgentId[] };
  'agent.wait.end': Call & {
    statuses: Record<string, WireStatus>;
    timed_out: boolean;
    interrupted_by_input?: boolean;
  };
  'agent.close.begin': OneReceiver;
  'agent.close.end': OneReceiver & { status: WireStatus };
  'agent.resume.begin': OneReceiver;
  'agent.resume.end': OneReceiver & { status: WireStatus; error?: string };
  'agent.status': { receiver_id: AgentId; status: Status; is_final: boolean; text: string };
  'agent.note': { receiver_id: AgentId; note: string | null };
  'subagent.start': { name: string; description: string; origin: string };
  'subagent.end': { name: string; success: boolean; origin: string };
  'approval.requested': ApprovalShown;
  'approval.decided': Decided;
  usage: { usage: Usage };
  'conversation.compacted': { replaced: number; bytes_before: number; bytes_after: number; reason: string };
  warning: { text: string };
}

/** What became of the call, the persona, the role and what is inherited. */
export type EffectiveSettings = Pick<
  AgentSettings,
  'role' | 'persona' | 'model' | 'reasoning_effort' | 'sandbox_mode' | 'working_directory'
>;

export type EventType = keyof EventBodies;

export interface EventHead {
  /** Counts from 1 without gaps, per agent. */
  seq: number;
  /** ISO 8601. */
  at: string;
  agent_id: AgentId;
  session_id: SessionId;
}

export type AgentEvent = { [T in EventType]: EventHead & { type: T } & EventBodies[T] }[EventType];
export type EventBody = { [T in EventType]: { type: T } & EventBodies[T] }[EventType];

export interface PlanStep {
  step: string;
  status: 'pending' | 'in_progress' | 'completed';
}
