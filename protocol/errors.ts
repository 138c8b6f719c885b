/** Stable codes of errors: what commands print and programs test. */
export const ERROR_CODES = [
  'usage',
  'config_invalid',
  'key_missing',
  'home_unwritable',
  'agent_not_found',
  'agent_ambiguous',
  'agent_closed',
  'ended_from_outside',
  'agent_not_resumable',
  'handle_not_found',
  'command_session_not_found',
  'rollout_invalid',
  'rollout_exists',
  'limit_depth',
  'limit_threads',
  'limit_agents',
  'limit_turns',
  'limit_steps',
  'limit_wall',
  'limit_runtime',
  'limit_tokens',
  'limit_operations',
  'limit_command_sessions',
  'approval_unavailable',
  'approval_denied',
  'approval_not_found',
  'mail_not_found',
  'plan_missing',
  'role_not_found',
  'invalid_arguments',
  'unknown_tool',
  'tool_not_allowed',
  'tool_failed',
  'outcome_unknown',
  'unknown_model',
  'unknown_role',
  'models_updating',
  'not_permitted',
  'model_unreachable',
  'model_refused',
  'context_full',
  'model_answer_empty',
  'model_answer_unreadable',
  'script_failed',
  'temporal_unreachable',
  'server_unavailable',
  'no_worker',
  'timeout',
  'interrupted',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** An error that travels: in `--json` output, tool results and updates. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  /** What to do next. */
  hint?: string;
  retryable?: boolean;
}

/** The error of all of Cadre's own code; `message` says what happened and to which id, `hint` what to do next. */
export class CadreError extends Error {
  override readonly name = 'CadreError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.retryable = options.retryable ?? false;
  }

  get body(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      retryable: this.retryable,
    };
  }
}

/** A refusal as the model reads it: the output of the tool call that was refused. */
export function refusalOutput(body: ErrorBody, details: Record<string, unknown> = {}): string {
  return JSON.stringify({ error: { ...body, ...details } });
}

/** The code in such an output; undefined for any other one, such as that of a command. */
export function refusalCode(output: string): string | undefined {
  return /^\{"error":\{"code":"([a-z_]{1,64})"/.exec(output)?.[1];
}
