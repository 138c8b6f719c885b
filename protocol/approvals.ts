import { z } from 'zod';
import type { ApprovalRule } from './approval-rules.ts';
import { type AgentId, NAMED_ID_MAX } from './ids.ts';
import { REASON_MAX } from './message-size.ts';
import { boundedText } from './text-length.ts';

export const DECISIONS = ['approve', 'approve_for_session', 'deny', 'abort'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A command, the start of an agent in another folder, changes of files, a tool of an MCP server. */
export const APPROVAL_KINDS = ['command', 'directory', 'patch', 'mcp'] as const;

/** What a person has to allow before an activity may do its work; the activity has done nothing yet. */
export interface ApprovalNeed {
  kind: (typeof APPROVAL_KINDS)[number];
  /** One line: what is to be done. */
  summary: string;
  /** Why it is asked. */
  reason: string;
  /** Whatever has the same key counts as the same question when a person approves it for the session. */
  key: string;
  /** The folder that is asked about, links resolved. */
  path?: string;
  /** The rule that would allow it from now on, where there can be one. */
  rule?: ApprovalRule;
}

/** A question that waits for a person; held by the root of the session. */
export interface Approval extends ApprovalNeed {
  approval_id: string;
  /** The agent whose turn waits for the answer. */
  asking_id: AgentId;
  role: string;
  /** The tool call that needs it. */
  call_id: string;
  /** The tool that is called. */
  tool?: string;
  /** ISO 8601. */
  requested_at: string;
}

/** What is to be seen of a question wherever it is told of, also when it has been decided. */
export type ApprovalShown = Pick<
  Approval,
  'approval_id' | 'asking_id' | 'role' | 'kind' | 'tool' | 'summary' | 'path'
>;

export function shownOf(approval: Approval): ApprovalShown {
  const { approval_id, asking_id, role, kind, tool, summary, path } = approval;
  return {
    approval_id,
    asking_id,
    role,
    kind,
    ...(tool === undefined ? {} : { tool }),
    summary,
    ...(path === undefined ? {} : { path }),
  };
}

/** How far an approval goes: that one call, or the same question for the rest of the session. */
export type ApprovalScope = 'once' | 'session';

/** What was decided on what. */
export interface Decided extends ApprovalShown {
  decision: Decision;
  /** Where it was approved. */
  scope?: ApprovalScope;
  /** What the person has said about it. */
  reason?: string;
}

export function decided(
  approval: Approval,
  { decision, reason }: { decision: Decision; reason?: string | undefined },
): Decided {
  const scope = SCOPES[decision];
  return {
    ...shownOf(approval),
    decision,
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
  };
}

const SCOPES: Partial<Record<Decision, ApprovalScope>> = { approve: 'once', approve_for_session: 'session' };

/** What came of a question. Abort denies it and stops the asking turn. */
export interface Verdict {
  /** The id of the approval. */
  request_id: string;
  decision: Decision;
  reason?: string;
}

/** Payload of the update `decide_approval`. */
export const decideApprovalSchema = z.strictObject({
  approval_id: boundedText(NAMED_ID_MAX).min(1),
  decision: z.enum(DECISIONS),
  reason: boundedText(REASON_MAX).optional(),
});
export type DecideApproval = z.infer<typeof decideApprovalSchema>;

/** Answer of the update: what was decided, so that whoever decides sees it. */
export interface DecisionAnswer extends Decided {
  submission_id: string;
  /** Other questions that the same decision answers. */
  answers_too: string[];
}

/** Answer of the query `approvals`. */
export interface ApprovalsView {
  approvals: Approval[];
}
