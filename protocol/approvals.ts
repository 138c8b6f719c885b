import { z } from 'zod';
import type { AgentId } from './ids.ts';

export const DECISIONS = ['approve', 'approve_for_session', 'deny', 'abort'] as const;
export type Decision = (typeof DECISIONS)[number];

/** What a person has to allow before an activity may do its work; the activity has done nothing yet. */
export interface ApprovalNeed {
  kind: 'command' | 'directory';
  /** One line: what is to be done. */
  summary: string;
  /** Why it is asked. */
  reason: string;
  /** Whatever has the same key counts as the same question when a person approves it for the session. */
  key: string;
  /** The folder that is asked about, links resolved. */
  path?: string;
}

/** A question that waits for a person; held by the root of the session. */
export interface Approval extends ApprovalNeed {
  approval_id: string;
  /** The agent whose turn waits for the answer. */
  asking_id: AgentId;
  role: string;
  /** The tool call that needs it. */
  call_id: string;
  /** ISO 8601. */
  requested_at: string;
}

/** What came of a question. Abort denies it and stops the asking turn. */
export interface Verdict {
  /** The id of the approval. */
  request_id: string;
  decision: Decision;
  reason?: string;
}

/** Payload of the update `decide_approval`. */
export const decideApprovalSchema = z.strictObject({
  approval_id: z.string().min(1).max(600),
  decision: z.enum(DECISIONS),
  reason: z.string().max(2_000).optional(),
});
export type DecideApproval = z.infer<typeof decideApprovalSchema>;

/** Answer of the query `approvals`. */
export interface ApprovalsView {
  approvals: Approval[];
}
