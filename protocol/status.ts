import { z } from 'zod';

export const STATUSES = [
  'pending_init',
  'running',
  'completed',
  'errored',
  'interrupted',
  'shutdown',
  'not_found',
] as const;

export const statusSchema = z.enum(STATUSES);
/** The life of an agent. */
export type Status = z.infer<typeof statusSchema>;

/** Final means: nothing more happens until somebody sends input or resumes the agent. */
export function isFinal(status: Status): boolean {
  return status !== 'pending_init' && status !== 'running';
}

/** What a running agent is waiting for. */
export const WAITING_FOR = ['model', 'tool', 'agents', 'approval', 'slot'] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

/** A status as tool results carry it: a bare word, or an object that carries the text beside it. */
export type WireStatus =
  | 'pending_init'
  | 'running'
  | 'shutdown'
  | 'not_found'
  | { completed: string }
  | { errored: string }
  | { interrupted: string };

export function wireStatus(status: Status, message = ''): WireStatus {
  switch (status) {
    case 'completed':
      return { completed: message };
    case 'errored':
      return { errored: message };
    case 'interrupted':
      return { interrupted: message };
    default:
      return status;
  }
}

/** A span of time as people read it: `8s`, `1m 12s`, `2h 3m`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

export interface Announcement {
  role: string;
  agentId: string;
  callId: string | undefined;
  status: Status;
  /** Milliseconds from the start of the turn to its end. */
  durationMs: number;
  message: string;
}

/** The line that tells a parent how a child's turn ended. */
export function formatAnnouncement(a: Announcement): string {
  const call = a.callId === undefined ? '' : ` [${a.callId}]`;
  return `agent ${a.role} (${a.agentId})${call} ${a.status} in ${formatDuration(a.durationMs)}: ${a.message}`;
}
