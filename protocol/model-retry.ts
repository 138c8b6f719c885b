/** The longest time that failing model calls may be tried again for: eleven days. */
export const MODEL_RETRY_MAX_MS = 1e9;

/** The wait before a failing model call is tried again: 1, 2, 4 … 30 seconds. */
export const MODEL_RETRY_FIRST_MS = 1_000;
export const MODEL_RETRY_MOST_MS = 30_000;

/** The wait after the given attempt, the first being 1. */
export function modelRetryWaitMs(attempt: number): number {
  return Math.min(MODEL_RETRY_FIRST_MS * 2 ** (attempt - 1), MODEL_RETRY_MOST_MS);
}
