import { performance } from 'node:perf_hooks';

const WINDOW_MS = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_MESSAGES = 20_000;

/** Says when a server sends more than anybody can have asked for. */
export class FloodGuard {
  #since = performance.now();
  #bytes = 0;
  #messages = 0;

  /** @throws Error for too much within ten seconds */
  take(bytes: number, messages = 0): void {
    const now = performance.now();
    if (now - this.#since > WINDOW_MS) {
      this.#since = now;
      this.#bytes = 0;
      this.#messages = 0;
    }
    this.#bytes += bytes;
    this.#messages += messages;
    if (this.#bytes > MOST_BYTES) throw flooded(`${MOST_BYTES} bytes`);
    if (this.#messages > MOST_MESSAGES) throw flooded(`${MOST_MESSAGES} messages`);
  }
}

function flooded(what: string): Error {
  return new Error(`it flooded: more than ${what} within ${WINDOW_MS / 1_000} s`);
}
