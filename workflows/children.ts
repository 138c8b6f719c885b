import type { AgentId, EndedTurn, Report, Status } from '../protocol/index.ts';
import { endOfLife, isNews, lifeOf, nextLife } from '../protocol/lives.ts';
import { isFinal } from '../protocol/status.ts';
import { fitting } from './carried-text.ts';
import { CUT_OFF } from './standing.ts';

/** What an agent knows of another one: a child of its, or one it watches. */
export interface Known {
  id: AgentId;
  isChild: boolean;
  role: string;
  callId?: string;
  status: Status;
  message: string;
  turn: number;
  closed: boolean;
  /** How it stood before it was closed. */
  beforeClose?: { status: Status; message: string };
  /** It was open until this agent closed, and was closed with it. */
  closedAlong?: boolean;
  /** `seq` of the newest report. */
  seq: number;
  /** Inputs sent to it by this agent that no report of it has confirmed yet. */
  pending: string[];
}

export interface ChildrenCarry {
  known: Known[];
  counters: Record<string, number>;
}

/** What a report changed. */
export interface Change {
  known: Known;
  statusChanged: boolean;
  /** A turn of a child that has ended, told once: the child may be on its way to the next one. */
  ended?: Required<EndedTurn>;
}

/** Of what is known of an agent, its message left aside. */
const KNOWN_BYTES = 300;

/** The agents that this one started, and others it watches, as their reports show them. */
export class Children {
  readonly #known: Map<AgentId, Known>;
  readonly #counters: Map<string, number>;
  /** The lives that this run has begun: the server tells it of their end. Not carried, since it tells no other run. */
  readonly #begun = new Map<AgentId, number>();

  constructor(carry: ChildrenCarry = { known: [], counters: {} }) {
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
  add(id: AgentId, role: string, callId: string | undefined, queued = false): Known {
    const known: Known = {
      id,
      isChild: true,
      role,
      status: queued ? 'pending_init' : 'running',
      message: '',
      turn: 0,
      closed: false,
      seq: 0,
      pending: [],
      ...(callId === undefined ? {} : { callId }),
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

  get open(): Known[] {
    return [...this.#known.values()].filter((known) => known.isChild && !known.closed);
  }

  /** This agent closes, and these with it: who resumes it may want them back. */
  closeAlong(): void {
    for (const known of this.open) this.#known.set(known.id, { ...known, closedAlong: true });
  }

  /** Children that were open until the end of this agent: closed because it closed, or open when it was ended. */
  get lastOpen(): AgentId[] {
    return [...this.#known.values()]
      .filter((known) => known.closedAlong === true || (known.isChild && !known.closed))
      .map((known) => known.id);
  }

  /** After a resume: whoever was open has been closed along, or ended since. Those of others are asked for again. */
  reopen(): void {
    for (const known of this.#known.values()) {
      const { closedAlong: _, ...rest } = known;
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
  resumed(id: AgentId, reports: number, queued: boolean): () => void {
    const known = this.#known.get(id);
    if (known === undefined) return () => {};
    const { beforeClose, closedAlong: _, ...rest } = known;
    const seq = nextLife(Math.max(rest.seq, reports));
    const inLine = queued ? { status: 'pending_init' as const, message: '' } : {};
    const resumed = { ...rest, ...beforeClose, ...inLine, closed: false, seq };
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
    return this.open.filter((known) => !isFinal(known.status) || known.pending.length > 0);
  }

  /** Takes in a report; undefined for one that is not newer than what is known. */
  apply(report: Report): Change | undefined {
    const { view, ended } = report;
    const before = this.#known.get(view.agent_id);
    if (before !== undefined && !isNews(report, before.seq)) return undefined;
    const known: Known = {
      id: view.agent_id,
      isChild: before?.isChild ?? false,
      role: view.role,
      status: view.status,
      message: view.message ?? '',
      turn: view.turn,
      closed: view.closed,
      seq: report.seq,
      pending: unconfirmed(before?.pending ?? [], report.taken),
      ...(report.call_id === undefined ? {} : { callId: report.call_id }),
      ...(before?.closedAlong === true ? { closedAlong: true } : {}),
      ...(view.closed && before !== undefined ? { beforeClose: standingBefore(before) } : {}),
    };
    this.#known.set(known.id, known);
    const statusChanged = before?.status !== known.status || before.turn !== known.turn;
    if (ended === undefined || !known.isChild) return { known, statusChanged };
    return { known, statusChanged, ended: { message: known.message, ...ended } };
  }

  /** Marks as gone what can report no more: it was terminated, or its workflow does not exist. */
  lost(id: AgentId, status: Status, message: string): void {
    const known = this.#known.get(id);
    if (known === undefined || known.closed) return;
    const seq = endOfLife(known.seq);
    this.#known.set(id, { ...known, status, message, closed: true, seq, beforeClose: cutOff(known) });
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
    let sum = 0;
    for (const { message, beforeClose } of this.#carried) {
      sum += KNOWN_BYTES + message.length + (beforeClose?.message.length ?? 0);
    }
    return sum;
  }

  get #carried(): Known[] {
    // What an open agent has said last, a wait is answered with.
    const said = fitting([...this.#known.values()], messageOf, withMessage, ({ closed }) => !closed);
    return fitting(said, messageBefore, withMessageBefore);
  }

  get carry(): ChildrenCarry {
    return { known: this.#carried, counters: Object.fromEntries(this.#counters) };
  }
}

/** How an agent stands once it is back that was ended from outside. */
function cutOff({ status, message }: Known): { status: Status; message: string } {
  return status === 'running' ? { status: 'interrupted', message: CUT_OFF } : { status, message };
}

const messageOf = ({ message }: Known): string => message;
const withMessage = (known: Known, message: string): Known => ({ ...known, message });
const messageBefore = ({ beforeClose }: Known): string | undefined => beforeClose?.message;
const withMessageBefore = (known: Known, message: string): Known =>
  known.beforeClose === undefined ? known : { ...known, beforeClose: { ...known.beforeClose, message } };

function standingBefore(before: Known): { status: Status; message: string } {
  if (before.beforeClose !== undefined) return before.beforeClose;
  const { status, message } = before;
  // A turn that the closing has cut off counts as interrupted.
  return isFinal(status) ? { status, message } : { status: 'interrupted', message };
}

/** An agent takes what one sender sends in order, so whatever was sent before a confirmed input is confirmed, too. */
function unconfirmed(pending: string[], taken: string[]): string[] {
  return pending.slice(pending.findLastIndex((id) => taken.includes(id)) + 1);
}
