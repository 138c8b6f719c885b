import type { AgentEvent, AgentId, EventBody, EventsPage, SessionId } from '../protocol/index.ts';
import { fitted, mapTexts } from './fit-result.ts';

export interface EventLogCarry {
  held: AgentEvent[];
  last: number;
}

/** How many characters of JSON are held; older events are dropped first. */
const HELD_CHARS = 300_000;
/** How many of them pass through continue-as-new. */
const CARRIED_CHARS = 60_000;
const PAGE_CHARS = 400_000;
/** What has been said stands whole in the items: of each text in an event so many characters are held. */
const TEXT_CHARS = 4_000;
/** An event with many texts takes so many bytes. */
const EVENT_BYTES = 16_000;

/** The newest events of one agent, counted without gaps. */
export class EventLog {
  readonly #agentId: AgentId;
  readonly #sessionId: SessionId;
  #held: AgentEvent[];
  #sizes: number[];
  #size = 0;
  #last: number;

  constructor(agentId: AgentId, sessionId: SessionId, carry: EventLogCarry = { held: [], last: 0 }) {
    this.#agentId = agentId;
    this.#sessionId = sessionId;
    this.#held = [...carry.held];
    this.#sizes = this.#held.map((event) => JSON.stringify(event).length);
    this.#size = this.#sizes.reduce((sum, size) => sum + size, 0);
    this.#last = carry.last;
  }

  /** @param now milliseconds since the epoch */
  add(body: EventBody, now: number): void {
    const head = {
      seq: ++this.#last,
      at: new Date(now).toISOString(),
      agent_id: this.#agentId,
      session_id: this.#sessionId,
    };
    const event = { ...head, ...shortened(body) } as AgentEvent;
    const size = JSON.stringify(event).length;
    this.#held.push(event);
    this.#sizes.push(size);
    this.#size += size;
    while (this.#size > HELD_CHARS && this.#held.length > 1) {
      this.#held.shift();
      this.#size -= this.#sizes.shift() ?? 0;
    }
  }

  page(after = 0): EventsPage {
    const wanted = this.#held.filter((event) => event.seq > after);
    const events: AgentEvent[] = [];
    let size = 0;
    for (const event of wanted) {
      size += JSON.stringify(event).length;
      if (events.length > 0 && size > PAGE_CHARS) break;
      events.push(event);
    }
    const first = events[0]?.seq ?? this.#last + 1;
    const dropped = Math.max(0, Math.min(first, this.#last + 1) - after - 1);
    const page = { events, next: events.at(-1)?.seq ?? Math.max(after, this.#last) };
    return dropped > 0 ? { ...page, dropped } : page;
  }

  get carry(): EventLogCarry {
    let size = 0;
    let start = this.#held.length;
    while (start > 0 && size + (this.#sizes[start - 1] ?? 0) <= CARRIED_CHARS) {
      start--;
      size += this.#sizes[start] ?? 0;
    }
    return { held: this.#held.slice(start), last: this.#last };
  }
}

function shortened(body: EventBody): EventBody {
  if (JSON.stringify(body).length <= TEXT_CHARS) return body;
  const short = mapTexts(body, (text) =>
    text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS).replace(/[\ud800-\udbff]$/, '')}…` : text,
  );
  return fitted(short, EVENT_BYTES) as EventBody;
}
