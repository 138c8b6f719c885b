import { LRUCache } from 'lru-cache';
import { type CadreError, formatDuration } from '../../protocol/index.ts';
import { ModelError } from './model-error.ts';

const REMEMBERED = 5_000;

/**
 * How long each failing call has been tried, as far as this process knows: the attempts are counted elsewhere, but an
 * attempt may take minutes, and a provider may ask for hours.
 */
export class RetryTime {
  readonly #failingSince = new LRUCache<string, number>({ max: REMEMBERED });

  /**
   * The error as it is, or final when trying again would take longer than there is time.
   *
   * @param call names the call, the same for all its attempts
   * @param begun when the attempt that failed began, in ms since the epoch
   */
  check(call: string, error: CadreError, begun: number, limitMs: number, now = Date.now()): CadreError {
    if (!error.retryable) return error;
    const since = this.#failingSince.get(call) ?? begun;
    this.#failingSince.set(call, since);
    const afterMs = error instanceof ModelError ? (error.retryAfterMs ?? 0) : 0;
    if (now + afterMs - since <= limitMs) return error;
    const hint =
      afterMs > limitMs
        ? `It asks to be left alone for ${formatDuration(afterMs)}, longer than calls are tried again (model_retry_ms).`
        : `It was tried for ${formatDuration(now - since)} (model_retry_ms).`;
    return new ModelError(error.code, error.message, {
      hint: error.hint === undefined ? hint : `${hint} ${error.hint}`,
    });
  }

  /** The call has passed. */
  forget(call: string): void {
    this.#failingSince.delete(call);
  }
}
