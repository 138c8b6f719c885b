import { ApplicationFailure } from '@temporalio/common';
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
 * again as the error says. Errors that are not ours pass unchanged.
 */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof CadreError)) return error;
  const retryAfterMs = error instanceof ModelError ? error.retryAfterMs : undefined;
  return ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: !error.retryable,
    details: [error.body],
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  });
}
