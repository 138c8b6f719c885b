import type { ErrorCode } from '../protocol/errors.ts';
import type { Status } from '../protocol/status.ts';

/** What the process ends with; scripts rely on these. */
export const EXIT = {
  done: 0,
  errored: 1,
  usage: 2,
  notFound: 3,
  approvalMissing: 4,
  refusedByLimit: 5,
  ended: 6,
  unreachable: 69,
  interrupted: 130,
  /** What a shell says of a program that SIGPIPE has ended. */
  outputClosed: 141,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * What a command is about and cannot find is `notFound`; an option, a setting or an argument of a tool that names
 * what is not on offer is `usage`.
 */
const CODES: Partial<Record<ErrorCode, ExitCode>> = {
  usage: EXIT.usage,
  config_invalid: EXIT.usage,
  key_missing: EXIT.usage,
  rollout_invalid: EXIT.usage,
  home_unwritable: EXIT.usage,
  invalid_arguments: EXIT.usage,
  agent_ambiguous: EXIT.usage,
  unknown_model: EXIT.usage,
  unknown_role: EXIT.usage,
  agent_not_found: EXIT.notFound,
  approval_not_found: EXIT.notFound,
  handle_not_found: EXIT.notFound,
  role_not_found: EXIT.notFound,
  unknown_tool: EXIT.notFound,
  approval_unavailable: EXIT.approvalMissing,
  limit_depth: EXIT.refusedByLimit,
  limit_threads: EXIT.refusedByLimit,
  limit_agents: EXIT.refusedByLimit,
  limit_turns: EXIT.refusedByLimit,
  limit_steps: EXIT.refusedByLimit,
  limit_wall: EXIT.refusedByLimit,
  limit_runtime: EXIT.refusedByLimit,
  limit_tokens: EXIT.refusedByLimit,
  limit_operations: EXIT.refusedByLimit,
  timeout: EXIT.ended,
  temporal_unreachable: EXIT.unreachable,
  model_unreachable: EXIT.unreachable,
  model_answer_unreadable: EXIT.unreachable,
  models_updating: EXIT.unreachable,
  server_unavailable: EXIT.unreachable,
  no_worker: EXIT.unreachable,
  interrupted: EXIT.interrupted,
};

/** For a command that was refused or failed. */
export function exitCodeOfError(code: ErrorCode): ExitCode {
  return CODES[code] ?? EXIT.errored;
}

/** Limits that end a session which had started: it counts as ended, not as refused. */
const ENDED_BY = new Set([
  'limit_turns',
  'limit_steps',
  'limit_wall',
  'limit_runtime',
  'limit_tokens',
  'timeout',
]);

export interface Outcome {
  status: string;
  code?: string;
  approval_missing?: boolean;
}

/**
 * Whether the turn failed in which a call was refused since nobody could be asked: one that was completed all the same
 * is done, and one that somebody has stopped or closed has ended by that.
 */
export function failedWithoutApproval({ status, approval_missing: missing }: Outcome): boolean {
  return status === 'errored' && missing === true;
}

/** For a session that has ended. */
export function exitCodeOfOutcome({ status, code, approval_missing }: Outcome): ExitCode {
  if (status === 'completed') return EXIT.done;
  if (failedWithoutApproval({ status, approval_missing })) return EXIT.approvalMissing;
  if (status === 'interrupted') return EXIT.interrupted;
  if (code === undefined) return EXIT.errored;
  if (ENDED_BY.has(code)) return EXIT.ended;
  return exitCodeOfError(code as ErrorCode);
}

/** For all that was waited for; what is worse wins: nobody knows it, the time was up, it failed, it was stopped. */
export function exitCodeOfWait(statuses: readonly Status[], timedOut: boolean): ExitCode {
  if (statuses.includes('not_found')) return EXIT.notFound;
  if (timedOut) return EXIT.ended;
  const missed = statuses.filter((status) => status !== 'completed');
  if (missed.length === 0) return EXIT.done;
  return missed.every((status) => status === 'interrupted') ? EXIT.interrupted : EXIT.errored;
}
