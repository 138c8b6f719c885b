import { resolveReference } from '../protocol/ids.ts';
import type { AgentId, AgentView, Limits, Report, SessionId } from '../protocol/index.ts';
import { endOfLife, isNews, lifeOf } from '../protocol/lives.ts';
import { isFinal } from '../protocol/status.ts';
import { Approvals, type ApprovalsCarry } from './approvals.ts';
import { Budget, type BudgetCarry } from './budget.ts';
import { fittingWhole, shortened } from './carried-text.ts';
import { boundedReport } from './report-size.ts';
import { Slots, type SlotsCarry } from './slots.ts';
import { Watches, type WatchesCarry } from './watches.ts';

export interface SessionTreeCarry {
  reports: Report[];
  watches?: WatchesCarry;
  slots: SlotsCarry;
  approvals?: ApprovalsCarry;
  budget?: BudgetCarry;
}

/** Of a report, its message left aside. */
const VIEW_BYTES = 1_000;

/** What the root alone knows: every agent of the session as its reports show it, and who may work. */
export class SessionTree {
  readonly slots: Slots;
  readonly approvals: Approvals;
  readonly budget: Budget;
  /** Who wants the reports of an agent, besides its parent and the root. */
  readonly watches: Watches;
  /** While somebody looks whether those that hold slots still run, and when that was done last. */
  looking: Promise<void> | undefined;
  lookedAt = 0;
  readonly #session: SessionId;
  readonly #reports: Map<AgentId, Report>;

  constructor(session: SessionId, limits: Limits, carry?: SessionTreeCarry) {
    this.#session = session;
    this.slots = new Slots(limits, carry?.slots);
    this.approvals = new Approvals(carry?.approvals);
    this.budget = new Budget(carry?.budget);
    this.budget.bound(session, limits.max_tokens);
    this.#reports = new Map(carry?.reports.map((report) => [report.view.agent_id, report]));
    this.watches = new Watches(carry?.watches);
  }

  /** An agent that is about to start; known from here on, so that others may refer to it. */
  expect(view: AgentView): void {
    this.#reports.set(view.agent_id, { view, seq: 0, taken: [] });
    this.budget.bound(view.agent_id, view.max_tokens);
  }

  /** Whether it is about to start, as far as anybody here knows. */
  isUnborn(id: AgentId): boolean {
    return this.#reports.get(id)?.seq === 0;
  }

  forget(id: AgentId): void {
    this.#reports.delete(id);
    this.budget.forget(id);
  }

  /** Takes in a report; undefined for one that is not newer than what is known, or of an agent that never was. */
  apply(report: Report): { statusChanged: boolean } | undefined {
    const { agent_id: id, status, turn } = report.view;
    const before = this.#reports.get(id);
    if (before === undefined || !isNews(report, before.seq)) return undefined;
    const { ended: _told, ...kept } = boundedReport(report, 'root');
    this.#reports.set(id, kept);
    return { statusChanged: before.view.status !== status || before.view.turn !== turn };
  }

  /** An idle agent got a slot: it is about to work. */
  granted(id: AgentId, now: number): void {
    const report = this.#reports.get(id);
    if (report === undefined || report.view.closed || report.view.status === 'running') return;
    const { queued: _queued, idle: _idle, waiting_for: _slot, message: _message, ...view } = report.view;
    const at = new Date(now).toISOString();
    this.#reports.set(id, {
      ...report,
      view: { ...view, status: 'running', is_final: false, status_since: at, updated_at: at },
    });
  }

  /**
   * What has happened wakes an idle agent: it is about to ask for a slot. One that has ended a turn since then may have
   * learnt of it already.
   *
   * @param at when it happened, ISO 8601
   */
  wakes(id: AgentId, at: string): void {
    const report = this.#reports.get(id);
    if (report === undefined || report.view.closed || !report.view.is_final) return;
    // One that was interrupted stays so until it gets input.
    if (report.view.status_since > at || report.view.status === 'interrupted') return;
    const { message: _message, ...view } = report.view;
    this.#reports.set(id, {
      ...report,
      view: {
        ...view,
        status: 'pending_init',
        is_final: false,
        queued: true,
        status_since: at,
        updated_at: at,
      },
    });
  }

  /** After a resume of the root: nobody below it works, and nobody waits for a person any more. */
  reopen(now: number): void {
    this.slots.reopen();
    for (const id of this.openIds) this.lost(id, 'ended with its root', now);
    for (const { approval_id: id } of this.approvals.pending) this.approvals.withdraw(id);
    this.watches.clear();
  }

  /**
   * An agent that can report no more.
   *
   * @param keepsStatus it had come to the end of its turn, and what it ended with holds
   * @returns whether that is news
   */
  lost(id: AgentId, reason: string, now: number, keepsStatus = false): boolean {
    const report = this.#reports.get(id);
    if (report === undefined || report.view.closed) return false;
    this.budget.lost(id);
    const at = new Date(now).toISOString();
    const holds = keepsStatus && report.view.is_final;
    const end = holds ? {} : ({ status: 'errored', message: reason, status_since: at } as const);
    const { waiting_for: _, current_tool: _tool, queued: _queued, idle: _idle, ...last } = report.view;
    const view: AgentView = { ...last, ...end, is_final: true, closed: true, updated_at: at };
    this.#reports.set(id, { ...report, view, seq: endOfLife(report.seq) });
    return true;
  }

  /** The life of an agent that the newest news of it is from. */
  life(id: AgentId): number {
    return lifeOf(this.#reports.get(id)?.seq ?? 0);
  }

  report(id: AgentId): Report | undefined {
    return this.#reports.get(id);
  }

  get ids(): AgentId[] {
    return [...this.#reports.keys()];
  }

  /** Texts are cut, since there may be very many of them. */
  get views(): AgentView[] {
    return [...this.#reports.values()].map((report) => withShortMessage(report.view));
  }

  get openIds(): AgentId[] {
    return this.views.filter((view) => !view.closed).map((view) => view.agent_id);
  }

  /** Whether some agent works, or waits to work. */
  get busy(): boolean {
    return (
      this.slots.busy ||
      this.views.some(({ closed, status, idle }) => !closed && !isFinal(status) && idle !== true)
    );
  }

  /** The agents that a reference may mean: one, none, or several. */
  candidates(reference: string): AgentId[] {
    const resolved = resolveReference(reference, this.#session, [this.#session, ...this.ids]);
    return 'id' in resolved ? [resolved.id] : resolved.candidates;
  }

  /** About as many as it takes in the input of a new run. */
  get bytes(): number {
    let sum = this.watches.bytes;
    for (const { view } of this.#carried) sum += VIEW_BYTES + (view.message?.length ?? 0);
    return sum;
  }

  get #carried(): Report[] {
    return fittingWhole([...this.#reports.values()], messageOf, withMessage);
  }

  get carry(): SessionTreeCarry {
    return {
      reports: this.#carried,
      watches: this.watches.carry,
      slots: this.slots.carry,
      approvals: this.approvals.carry,
      budget: this.budget.carry,
    };
  }
}

function withShortMessage(view: AgentView): AgentView {
  return view.message === undefined ? view : { ...view, message: shortened(view.message) };
}

const messageOf = ({ view }: Report): string | undefined => view.message;
const withMessage = (report: Report, message: string): Report => ({
  ...report,
  view: { ...report.view, message },
});
