import type { AgentId } from './ids.ts';

/** The tokens of a session (`agents.max_tokens`), counted by the root and by nobody else. */

/** Asked before a model call of a session that has a budget. */
export interface BudgetRequest {
  request_id: string;
  from: AgentId;
  /** Tokens that the asking agent has used so far, over its whole life. */
  spent: number;
}

/** `last`: one more call, without tools, for a last report; `stop`: no call at all. */
export type BudgetOutcome = 'go' | 'last' | 'stop';

export interface BudgetAnswer {
  request_id: string;
  outcome: BudgetOutcome;
  /** Tokens used in the whole session, and its limit. */
  used: number;
  limit: number;
  /** With `go`: no need to ask again before the agent has spent so many over its whole life. */
  until?: number;
}
