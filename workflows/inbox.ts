import type { AgentId, ContentPart, EndedTurn, Item, Status } from '../protocol/index.ts';
import { textMessage } from '../protocol/items.ts';
import { jsonBytes } from './carried-text.ts';

/** Input from a person, a program or another agent. */
export interface Input {
  id: string;
  content: ContentPart[];
  from?: string;
}

/** How a child's turn ended, to be told to the model once. */
export interface ChildNotice {
  child: AgentId;
  turn: number;
  status: EndedTurn['status'];
  text: string;
}

type Waiting = { kind: 'input'; input: Input } | { kind: 'notice'; notice: ChildNotice };

export interface InboxCarry {
  waiting: Waiting[];
  seen: string[];
  taken: [sender: string, id: string][];
}

/** How many ids of delivered inputs are remembered, to know a repeated one. */
const SEEN_KEPT = 2_000;

/** What waits for the agent's next model call: kept in order, each delivered once. */
export class Inbox {
  #waiting: Waiting[];
  readonly #seen: Set<string>;
  /** For each agent that sends, the newest of its inputs that was delivered; those before it were, too. */
  readonly #taken: Map<string, string>;

  constructor(carry: InboxCarry = { waiting: [], seen: [], taken: [] }) {
    this.#waiting = [...carry.waiting];
    this.#seen = new Set(carry.seen);
    this.#taken = new Map(carry.taken);
  }

  /** Returns false for an input that was taken before, as a client that retries sends it again. */
  accept(input: Input): boolean {
    if (this.#seen.has(input.id)) return false;
    this.#seen.add(input.id);
    if (this.#seen.size > SEEN_KEPT) {
      for (const oldest of this.#seen) {
        this.#seen.delete(oldest);
        break;
      }
    }
    this.#waiting.push({ kind: 'input', input });
    return true;
  }

  /** One that an agent has sent cannot be taken: to that agent it counts as delivered. */
  turnAway(from: string, id: string): void {
    this.#taken.set(from, id);
  }

  announce(notice: ChildNotice): void {
    this.#waiting.push({ kind: 'notice', notice });
  }

  /** Takes back what the model has just learnt by another way, such as a wait: that end of that turn, and no other. */
  withdraw(child: AgentId, turn: number, status: Status): void {
    const isTold = (entry: Waiting): boolean =>
      entry.kind === 'notice' &&
      entry.notice.child === child &&
      entry.notice.turn === turn &&
      entry.notice.status === status;
    this.#waiting = this.#waiting.filter((entry) => !isTold(entry));
  }

  get hasInput(): boolean {
    return this.#waiting.some((entry) => entry.kind === 'input');
  }

  get hasNotice(): boolean {
    return this.#waiting.some((entry) => entry.kind === 'notice');
  }

  /** The newest input of each agent that was delivered, by id. */
  get taken(): string[] {
    return [...this.#taken.values()];
  }

  /** Takes all that waits, so that one model call sees it together. */
  drain(): Item[] {
    return this.#waiting.splice(0).map((entry) => {
      if (entry.kind === 'notice') return { type: 'notice', text: entry.notice.text };
      const { id, content, from } = entry.input;
      // Only ids that the sender itself gave: anybody may write an agent's name into `from`.
      if (from !== undefined && id.startsWith(`${from}#`)) this.#taken.set(from, id);
      return from === undefined ? { type: 'user_message', content } : { type: 'user_message', content, from };
    });
  }

  /** About as many as what waits takes in the input of a new run. */
  get bytes(): number {
    return this.#waiting.reduce((sum, entry) => sum + jsonBytes(entry), 0);
  }

  get carry(): InboxCarry {
    return { waiting: this.#waiting, seen: [...this.#seen], taken: [...this.#taken] };
  }
}

/** The input that a plain text makes. */
export function textInput(id: string, text: string): Input {
  return { id, content: textMessage(text).content };
}
