import type { ServerContext } from '@modelcontextprotocol/server';
import { formatDuration } from '../../protocol/index.ts';

/** Clients give up on a call that says nothing for a while. */
const REMINDER_MS = 10_000;

/** Tells the client of a call what happens while it waits; nothing where it has not asked for that. */
export class Progress {
  readonly #request: ServerContext['mcpReq'];
  readonly #token: string | number | undefined;
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #told = 0;
  #isOver = false;
  /** How it stands, for when nothing new has happened. */
  standing: () => string = () => 'starting';

  constructor(request: ServerContext['mcpReq']) {
    this.#request = request;
    this.#token = request._meta?.progressToken;
    if (this.#token === undefined) return;
    this.#timer = setInterval(() => {
      this.tell(`${formatDuration(Date.now() - this.#startedAt)}: ${this.standing()}`);
    }, REMINDER_MS).unref();
  }

  tell(message: string): void {
    if (this.#token === undefined || this.#isOver) return;
    this.#told++;
    const params = { progressToken: this.#token, progress: this.#told, message };
    this.#request.notify({ method: 'notifications/progress', params }).catch(() => {});
  }

  end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}
