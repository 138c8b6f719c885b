import type { AgentId, AgentView, Report, Status, ToldEnd } from '../protocol/index.ts';
import { endOfLife, isNews, lifeOf, nextLife } from '../protocol/lives.ts';
import { isFinal } from '../protocol/status.ts';
import { jsonBytes } from './carried-text.ts';
import {
  cutOff,
  fittingKnown,
  type Known,
  lastEndOf,
  shown,
  since,
  standingBefore,
  wasEnded,
} from './known.ts';

export interface ChildrenCarry {
  known: Known[];
  counters: Record<string, number>;
}

/** What a report changed. */
export interface Change {
  known: Known;
  statusChanged: boolean;
  /** A turn of a child that has ended, told once: the child may be on its way to the next one. */
  ended?: ToldEnd;
}

/** Of what is known of an agent, its message left aside. */
const KNOWN_BYTES = 300;

/** The agents that this one started, and others it watches, as their reports show them. */
export class Children {
  readonly #known: Map<AgentId, Known>;
  readonly #counters: Map<string, number>;
  /** The lives that this run has begun: the server tells it of their end. Not carried, since it tells no other run. */
  readonly #begun = new Map<AgentId, number>();
  readonly #showsThem: boolean;

  /** @param showsThem whether others look here how they stand: not at the root, which knows the whole session */
  constructor(carry: ChildrenCarry = { known: [], counters: {} }, showsThem = true) {
    this.#showsThem = showsThem;
    this.#known = new Map(carry.known.map((known) => [known.id, known]));
    this.#counters = new Map(Object.entries(carry.counters));
  }

  /** The next counter of a role; never given out twice, also after the child has gone. */
  nextNumber(role: string): number {
    const next = (this.#counters.get(role) ?? 0) + 1;
    this.#counters.set(role, next);
    return next;
  }

  /** One that has got its slot runs from the start on, without a report; one that is queued waits for its first turn. */
  add(id: AgentId, role: string, callId: string | undefined, queued = false, view?: AgentView): Known {
    const known: Known = {
      id,
      isChild: true,
      role,
      status: queued || view?.idle === true ? 'pending_init' : 'running',
      message: '',
      turn: queued || view?.idle === true ? 0 : 1,
      closed: false,
      ...(view?.idle === true ? { idle: true } : {}),
      seq: 0,
      pending: [],
      ...(callId === undefined ? {} : { callId }),
      ...(view?.forked === true ? { forked: true } : {}),
      ...(view === undefined ? {} : this.#viewIn(queued ? { ...view, queued } : view)),
    };
    this.#known.set(id, known);
    this.#begun.set(id, 0);
    return known;
  }

  remove(id: AgentId): void {
    this.#known.delete(id);
  }

  get(id: AgentId): Known | undefined {
    return this.#known.get(id);
  }

  /** Children only, in the order in which they were started. */
  get ids(): AgentId[] {
    return [...this.#known.values()].filter((known) => known.isChild).map((known) => known.id);
  }

  /** How they stand, as this agent knows it; their messages are cut. */
  get views(): AgentView[] {
    return [...this.#known.values()].flatMap((known) => (known.isChild ? (shown(known) ?? []) : []));
  }

  get open(): Known[] {
    return [...this.#known.values()].filter((known) => known.isChild && !known.closed);
  }

  /** This agent closes, and these with it: who resumes it may want them back. */
  closeAlong(): void {
    for (const known of this.open) this.#known.set(known.id, { ...known, closedAlong: true });
  }

  /**
   * Children that were open until the end of this agent: closed because it closed, or open when it was ended. So are
   * those that were ended from outside before: nobody has closed them.
   */
  get lastOpen(): AgentId[] {
    return [...this.#known.values()]
      .filter((known) => known.closedAlong === true || (known.isChild && (!known.closed || wasEnded(known))))
      .map((known) => known.id);
  }

  /** After a resume: whoever was open has been closed along, or ended since. Those of others are asked for again. */
  reopen(now = Date.now()): void {
    for (const known of this.#known.values()) {
      const { closedAlong: _, ...rest } = known.closed ? known : since(known, now);
      const status = isFinal(rest.status) ? rest.status : 'shutdown';
      const before = rest.closed ? {} : { beforeClose: cutOff(rest) };
      const closed = { ...rest, ...before, status, closed: true, seq: endOfLife(rest.seq), pending: [] };
      if (known.isChild) this.#known.set(known.id, closed);
      else this.#known.delete(known.id);
    }
  }

  /**
   * An agent is about to be resumed: it takes input again, and stands as before it was closed until it says more.
   *
   * @param reports `seq` of the newest report of its last life
   * @returns undoes it
   */
  resumed(id: AgentId, reports: number, queued: boolean, now = Date.now()): () => void {
    const known = this.#known.get(id);
    if (known === undefined) return () => {};
    const { beforeClose, lastEnd: _end, closedAlong: _, ...rest } = since(known, now);
    const seq = nextLife(Math.max(rest.seq, reports));
    const stands = beforeClose ?? { status: rest.status, message: rest.message };
    const inLine = queued ? { status: 'pending_init' as const, message: '', lastEnd: stands } : stands;
    // What it had not taken when it closed waits for what it is sent next.
    const resumed: Known = { ...rest, ...inLine, closed: false, seq, pending: [] };
    this.#known.set(id, resumed);
    this.#begun.set(id, lifeOf(seq));
    return () => {
      this.#begun.delete(id);
      // Somebody else may have been faster, and the agent have said so.
      if (this.#known.get(id) === resumed) this.#known.set(id, known);
    };
  }

  /** The life of an agent that the newest news of it is from; undefined of one that is not known. */
  life(id: AgentId): number | undefined {
    const known = this.#known.get(id);
    return known === undefined ? undefined : lifeOf(known.seq);
  }

  /** Open children of whose abrupt end nobody tells this run: another one, or another agent, has begun their lives. */
  get unheard(): Known[] {
    return this.open.filter(({ id, seq }) => this.#begun.get(id) !== lifeOf(seq));
  }

  get working(): Known[] {
    return this.open.filter(
      ({ status, idle, pending }) => (!isFinal(status) && idle !== true) || pending.length > 0,
    );
  }

  /** Whether somebody has got input of this agent, and has not told yet that it was delivered. */
  get hasUnconfirmed(): boolean {
    return [...this.#known.values()].some(({ closed, pending }) => !closed && pending.length > 0);
  }

  /** Takes in a report; undefined for one that is not newer than what is known. */
  apply(report: Report): Change | undefined {
    const { view, ended } = report;
    const before = this.#known.get(view.agent_id);
    if (before !== undefined && !isNews(report, before.seq)) return undefined;
    const lastEnd = lastEndOf(before, report);
    const known: Known = {
      id: view.agent_id,
      isChild: before?.isChild ?? false,
      role: view.role,
      status: view.status,
      message: view.message ?? '',
      turn: view.turn,
      closed: view.closed,
      ...(view.idle === true ? { idle: true } : {}),
      seq: report.seq,
      pending: unconfirmed(before?.pending ?? [], report.taken),
      ...(report.call_id === undefined ? {} : { callId: report.call_id }),
      ...(view.forked === true ? { forked: true } : {}),
      ...(before?.closedAlong === true ? { closedAlong: true } : {}),
      ...(view.closed && before !== undefined ? { beforeClose: standingBefore(before, report) } : {}),
      ...(lastEnd === undefined ? {} : { lastEnd }),
      ...(before?.isChild === true ? this.#viewIn(view) : {}),
    };
    this.#known.set(known.id, known);
    const statusChanged = before?.status !== known.status || before.turn !== known.turn;
    if (ended === undefined || !known.isChild) return { known, statusChanged };
    return { known, statusChanged, ended: { message: known.message, ...ended } };
  }

  #viewIn({ message: _, ...view }: AgentView): Pick<Known, 'view'> {
    return this.#showsThem ? { view } : {};
  }

  /** Marks as gone what can report no more: it was terminated, or its workflow does not exist. */
  lost(id: AgentId, status: Status, message: string, now = Date.now()): void {
    const known = this.#known.get(id);
    if (known === undefined || known.closed) return;
    const seq = endOfLife(known.seq);
    this.#known.set(id, {
      ...since(known, now),
      status,
      message,
      closed: true,
      seq,
      beforeClose: cutOff(known),
    });
  }

  /** Remembers an input until the agent confirms it, so that the end of an older turn does not pass for its answer. */
  sent(id: AgentId, inputId: string): void {
    const known = this.#known.get(id);
    if (known !== undefined) this.#known.set(id, { ...known, pending: [...known.pending, inputId] });
  }

  /** An input that did not go out after all. */
  unsent(id: AgentId, inputId: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#known.set(id, { ...known, pending: known.pending.filter((pending) => pending !== inputId) });
  }

  /** Final, and nothing that was sent to it is still on the way. */
  hasSettled(id: AgentId): boolean {
    const known = this.#known.get(id);
    if (known === undefined || known.closed) return true;
    return isFinal(known.status) && known.pending.length === 0;
  }

  /** About as many as it takes in the input of a new run. */
  get bytes(): number {
    return fittingKnown([...this.#known.values()]).reduce(
      (sum, { message, beforeClose, lastEnd, view }) =>
        sum +
        KNOWN_BYTES +
        message.length +
        (beforeClose?.message.length ?? 0) +
        (lastEnd?.message.length ?? 0) +
        (view === undefined ? 0 : jsonBytes(view)),
      0,
    );
  }

  get carry(): ChildrenCarry {
    return { known: fittingKnown([...this.#known.values()]), counters: Object.fromEntries(this.#counters) };
  }
}

/** An agent takes what one sender sends in order, so whatever was sent before a confirmed input is confirmed, too. */
function unconfirmed(pending: string[], taken: string[]): string[] {
  return pending.slice(pending.findLastIndex((id) => taken.includes(id)) + 1);
}
