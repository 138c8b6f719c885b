import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { CadreError, type ErrorCode } from '../../protocol/index.ts';

/** A model call that failed; a retryable one may pass when it is tried again, not before `retryAfterMs`. */
export class ModelError extends CadreError {
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string | undefined; retryable?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    const { hint, retryable = false } = options;
    super(code, message, hint === undefined ? { retryable } : { hint, retryable });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * An error as Temporal carries it: `type` is the code, the details hold the whole error body, and Temporal tries
 * again as the error says. What nobody has foreseen is `internal`, and may pass.
 */
export function toFailure(error: unknown): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  const known =
    error instanceof CadreError ? error : new CadreError('internal', String(error), { retryable: true });
  const retryAfterMs = known instanceof ModelError ? known.retryAfterMs : undefined;
  return ApplicationFailure.create({
    message: known.message,
    type: known.code,
    nonRetryable: !known.retryable,
    details: [known.body],
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}
