import type { ErrorCode } from '../protocol/index.ts';

/** How a turn ends. */
export type TurnOutcome =
  | { status: 'completed'; message: string }
  | { status: 'errored'; message: string; code: ErrorCode }
  /** `along`: since its parent was interrupted. */
  | { status: 'interrupted'; message: string; along?: true };
