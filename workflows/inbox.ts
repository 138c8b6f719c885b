import { counted } from '../protocol/counted.ts';
import type { AgentId, ContentPart, EndedTurn, Item, Status } from '../protocol/index.ts';
import { textMessage } from '../protocol/items.ts';
import { INPUT_IDS_KEPT } from '../protocol/messages.ts';
import { jsonBytes } from './carried-text.ts';
import { fitted } from './fit-result.ts';

/** Input from a person, a program or another agent. */
export interface Input {
  id: string;
  content: ContentPart[];
  from?: string;
  /** It does not join a running turn, but begins one. */
  own_turn?: true;
}

/** How a child's turn ended, to be told to the model once. */
export interface ChildNotice {
  child: AgentId;
  turn: number;
  status: EndedTurn['status'];
  text: string;
  /** It is told with whatever comes next, and is no reason for a turn of its own. */
  quiet?: true;
}

/** `held`: it is from before the agent was closed or interrupted, and waits for what comes after that. */
type Waiting = ({ kind: 'input'; input: Input } | { kind: 'notice'; notice: ChildNotice }) & { held?: true };

export interface InboxCarry {
  waiting: Waiting[];
  seen: string[];
  taken: [sender: string, id: string][];
  /** How many notices were too many to be kept. */
  missed?: number;
}

/** How many notices wait at most: the oldest make way. */
const NOTICES_KEPT = 500;
/** What all of them take together, as JSON: in the input of a new run, and in the conversation. */
const NOTICES_BYTES = 400_000;

/** What waits for the agent's next model call: kept in order, each delivered once. */
export class Inbox {
  #waiting: Waiting[];
  #missed: number;
  readonly #seen: Set<string>;
  /** For each agent that sends, the newest of its inputs that was delivered; those before it were, too. */
  readonly #taken: Map<string, string>;

  constructor(carry: InboxCarry = { waiting: [], seen: [], taken: [] }) {
    this.#waiting = [...carry.waiting];
    this.#missed = carry.missed ?? 0;
    this.#seen = new Set(carry.seen);
    this.#taken = new Map(carry.taken);
  }

  /** Returns false for an input that was taken before, as a client that retries sends it again. */
  accept(input: Input): boolean {
    if (this.#seen.has(input.id)) return false;
    this.#seen.add(input.id);
    if (this.#seen.size > INPUT_IDS_KEPT) {
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
    if (this.#notices.length <= NOTICES_KEPT) return;
    this.#waiting.splice(
      this.#waiting.findIndex(({ kind }) => kind === 'notice'),
      1,
    );
    this.#missed++;
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

  /**
   * The agent was closed, and is back, or was interrupted: what waits does not start a turn, and goes before what comes
   * next.
   *
   * @returns how many inputs that are
   */
  hold(): number {
    this.#waiting = this.#waiting.map((entry) => ({ ...entry, held: true }));
    return this.#waiting.filter(({ kind }) => kind === 'input').length;
  }

  /** What was held makes a turn again: the one that was to be stopped had come to its end before. */
  release(): void {
    this.#waiting = this.#waiting.map(({ held: _, ...entry }) => entry);
  }

  /** What was sent and is not delivered yet, in order. */
  get inputs(): Input[] {
    return this.#waiting.flatMap((entry) => (entry.kind === 'input' ? [entry.input] : []));
  }

  get hasInput(): boolean {
    return this.#waiting.some(({ kind, held }) => kind === 'input' && held !== true);
  }

  /** Whether there is some that joins a running turn. */
  get hasSteering(): boolean {
    return this.#forTurn(false).now.some((entry) => entry.kind === 'input' && entry.held !== true);
  }

  /** Whether there is some that was to make a turn, and is held. */
  get holdsInput(): boolean {
    return this.#waiting.some(({ kind, held }) => kind === 'input' && held === true);
  }

  get hasNotice(): boolean {
    return this.#waiting.some(({ kind, held }) => kind === 'notice' && held !== true);
  }

  /** Whether there is one that may start a turn. */
  get hasWakingNotice(): boolean {
    return this.#waiting.some(
      (entry) => entry.kind === 'notice' && entry.held !== true && entry.notice.quiet !== true,
    );
  }

  /** The newest input of each agent that was delivered, by id. */
  get taken(): string[] {
    return [...this.#taken.values()];
  }

  /** Takes all that waits, so that one model call sees it together. */
  drain(): Item[] {
    const items = this.#fitting.map((entry) => this.#take(entry));
    const missed = this.#missed;
    this.#waiting = [];
    this.#missed = 0;
    return missed === 0 ? items : [{ type: 'notice', text: tellMissed(missed) }, ...items];
  }

  /**
   * Takes what waits for a turn, so that one model call sees it together: of inputs that have a turn of their own at
   * most one, where the turn begins.
   */
  drainForTurn(begins: boolean): Item[] {
    const { now, later } = this.#forTurn(begins);
    if (later.length === 0) return this.drain();
    this.#waiting = now;
    const items = this.drain();
    this.#waiting = later;
    return items;
  }

  /** What one sender has sent stays in order; whatever else has come does not wait for it. */
  #forTurn(begins: boolean): { now: Waiting[]; later: Waiting[] } {
    const now: Waiting[] = [];
    const later: Waiting[] = [];
    const behind = new Set<string | undefined>();
    let isTaken = !begins;
    for (const entry of this.#waiting) {
      const { own_turn: own, from } = entry.kind === 'input' ? entry.input : {};
      if (entry.kind === 'notice') now.push(entry);
      else if (behind.has(from) || (own === true && isTaken)) {
        behind.add(from);
        later.push(entry);
      } else {
        now.push(entry);
        isTaken ||= own === true || entry.held !== true;
      }
    }
    return { now, later };
  }

  /** Takes what is held, and leaves what has come since. */
  drainHeld(): Item[] {
    const items = this.#fitting.flatMap((entry) => (entry.held === true ? [this.#take(entry)] : []));
    this.#waiting = this.#waiting.filter(({ held }) => held !== true);
    return items;
  }

  #take(entry: Waiting): Item {
    if (entry.kind === 'notice') return { type: 'notice', text: entry.notice.text };
    const { id, content, from } = entry.input;
    // Only ids that the sender itself gave: anybody may write an agent's name into `from`.
    if (from !== undefined && id.startsWith(`${from}#`)) this.#taken.set(from, id);
    return from === undefined ? { type: 'user_message', content } : { type: 'user_message', content, from };
  }

  /** About as many as what waits takes in the input of a new run. */
  get bytes(): number {
    return this.#fitting.reduce((sum, entry) => sum + jsonBytes(entry), 0);
  }

  get #notices(): ChildNotice[] {
    return this.#waiting.flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
  }

  /** What waits, with the texts of notices cut where they are too long together. */
  get #fitting(): Waiting[] {
    const texts = fitted(
      this.#notices.map(({ text }) => text),
      NOTICES_BYTES,
    );
    let next = 0;
    return this.#waiting.map((entry) => {
      if (entry.kind === 'input') return entry;
      return { ...entry, notice: { ...entry.notice, text: texts[next++] ?? '' } };
    });
  }

  get carry(): InboxCarry {
    return {
      waiting: this.#fitting,
      seen: [...this.#seen],
      taken: [...this.#taken],
      ...(this.#missed === 0 ? {} : { missed: this.#missed }),
    };
  }
}

function tellMissed(count: number): string {
  return `${counted(count, 'turn')} of your agents ended before that, and are not told one by one: look at how they stand.`;
}

/** The input that a plain text makes. */
export function textInput(id: string, text: string): Input {
  return { id, content: textMessage(text).content };
}
