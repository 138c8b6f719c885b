import { ApplicationFailure } from '@temporalio/common';
import { CancellationScope, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { AgentId, Mail } from '../protocol/index.ts';
import { INTERNAL_SIGNAL } from '../protocol/internal.ts';

const MISSING = 'ExternalWorkflowExecutionNotFound';

/** Whether the receiver of a signal is closed, terminated or was never there. */
function isMissing(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === MISSING;
}

/** As much goes into one signal; a mail that is larger goes alone. */
const SIGNAL_BYTES = 500_000;

interface Letter {
  signal: string;
  payload: unknown;
  settle(sent: Promise<boolean>): void;
}

/**
 * What this agent sends to others of its session. Signals to one receiver go one after the other, since the server
 * may deliver two that are under way in either order; mails that wait for their turn go together as one signal.
 * What is sent is sent: no interrupt takes it back.
 */
export class Outbox {
  /** What waits for each receiver; a receiver has an entry while something of its is under way. */
  readonly #waiting = new Map<AgentId, Letter[]>();

  /** Sends without waiting; `onMissing` is called when there is nobody to receive it. */
  post(to: AgentId, mail: Mail, onMissing: () => void = () => {}): void {
    void this.send(to, INTERNAL_SIGNAL, mail).then(
      (reached) => {
        if (!reached) onMissing();
      },
      // A receiver that the server lets take no more signals: whoever waits for an answer has its own way out.
      () => {},
    );
  }

  /** Like `post`, for one who has to know: false when there is nobody to receive it. */
  mail(to: AgentId, mail: Mail): Promise<boolean> {
    return this.send(to, INTERNAL_SIGNAL, mail);
  }

  /** Resolves when the server has the signal; false when there is nobody to receive it. */
  send(to: AgentId, signal: string, payload: unknown): Promise<boolean> {
    return new Promise((resolve) => {
      const letter: Letter = { signal, payload, settle: resolve };
      const waiting = this.#waiting.get(to);
      if (waiting !== undefined) {
        waiting.push(letter);
        return;
      }
      const queue = [letter];
      this.#waiting.set(to, queue);
      void CancellationScope.nonCancellable(() => this.#sendAll(to, queue));
    });
  }

  /** Whether all that was sent has reached the server. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  async #sendAll(to: AgentId, queue: Letter[]): Promise<void> {
    // Whatever else is sent in this breath goes along.
    await Promise.resolve();
    while (queue.length > 0) {
      const letters = takeTogether(queue);
      const [first] = letters;
      if (first === undefined) break;
      const isMail = first.signal === INTERNAL_SIGNAL;
      const payload = isMail ? letters.map((letter) => letter.payload) : first.payload;
      const sent = deliver(to, first.signal, payload);
      for (const letter of letters) letter.settle(sent);
      await sent.catch(() => {});
    }
    this.#waiting.delete(to);
  }
}

/** The mails at the head of the queue, as many as fit into one signal; or the one other signal that stands there. */
export function takeTogether<L extends Pick<Letter, 'signal' | 'payload'>>(queue: L[]): L[] {
  let end = 0;
  let bytes = 0;
  for (const { signal, payload } of queue) {
    if (signal !== INTERNAL_SIGNAL) break;
    bytes += JSON.stringify(payload).length;
    if (end > 0 && bytes > SIGNAL_BYTES) break;
    end++;
  }
  return queue.splice(0, Math.max(1, end));
}

async function deliver(to: AgentId, signal: string, payload: unknown): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(to).signal(signal, payload);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
