import { ModelError } from '../model-error.ts';

/** Aborts a call when nothing has arrived for a while: a connection that hangs looks alive for ever otherwise. */
export class IdleWatch {
  readonly signal: AbortSignal;
  readonly #idle = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, ms: number) {
    this.#ms = ms;
    this.signal = AbortSignal.any([signal, this.#idle.signal]);
    this.touch();
  }

  /** Something arrived. */
  touch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#idle.abort(), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** The error to report when it was this watch that ended the call. */
  error(where: string): ModelError | undefined {
    if (!this.#idle.signal.aborted) return undefined;
    return new ModelError(
      'model_unreachable',
      `${where} has sent nothing for ${Math.round(this.#ms / 1000)} s; the call was given up.`,
      { retryable: true },
    );
  }
}
