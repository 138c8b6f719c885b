import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { CadreError, type ErrorCode, modelRetryWaitMs } from '../../protocol/index.ts';

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

/** Errors of our own; what nobody has foreseen is `internal`, and may pass. */
export function asCadreError(error: unknown): CadreError {
  if (error instanceof CadreError) return error;
  return new CadreError('internal', String(error), { retryable: true });
}

/**
 * An error as Temporal carries it: `type` is the code, the message ends with what to do, as it is all that an agent
 * keeps of it, and the details hold the whole error body. Temporal tries again as the error says: a provider that
 * wants to be left alone is, but never for less than the usual wait, as the attempts are counted by that.
 *
 * @param attempt which try of the call has failed, from 1
 */
export function toFailure(error: unknown, attempt: number): TemporalFailure {
  if (error instanceof TemporalFailure) return error;
  const known = asCadreError(error);
  const retryAfterMs = known instanceof ModelError ? known.retryAfterMs : undefined;
  return ApplicationFailure.create({
    message: known.hint === undefined ? known.message : `${sentence(known.message)} ${known.hint}`,
    type: known.code,
    nonRetryable: !known.retryable,
    details: [known.body],
    ...(retryAfterMs === undefined
      ? {}
      : { nextRetryDelay: Math.max(retryAfterMs, modelRetryWaitMs(attempt)) }),
  });
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
