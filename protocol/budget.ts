import type { AgentId } from './ids.ts';

/**
 * The tokens of a session (`agents.max_tokens`) and the shares that agents have of them, counted by the root and by
 * nobody else.
 */

/** Asked before a model call of an agent that has a limit of tokens. */
export interface BudgetRequest {
  request_id: string;
  from: AgentId;
  /** Tokens that the asking agent has used so far, over its whole life. */
  spent: number;
  /** Tokens that its next call takes, as far as can be foreseen. */
  expected?: number;
  /** Its conversation has become shorter: no earlier step says how much the next one takes. */
  shrunk?: boolean;
}

export type BudgetAnswer =
  | {
      request_id: string;
      outcome: 'go';
      /** No need to ask again before the agent has spent so many over its whole life. */
      until?: number;
    }
  | ({ request_id: string } & BudgetRefusal);

/** A limit that is reached. */
export interface BudgetRefusal {
  /** `last`: one more call, without tools, for a last report; `stop`: no call at all. */
  outcome: 'last' | 'stop';
  /** Whose limit it is: the root's is that of the session, any other a share. */
  holder: AgentId;
  /** Tokens used by the holder and all agents below it, and the limit. */
  used: number;
  limit: number;
}
