import { isBelow, parentOf } from '../protocol/ids.ts';
import type { AgentId, BudgetAnswer, BudgetRefusal, BudgetRequest } from '../protocol/index.ts';

export interface BudgetCarry {
  limits: [AgentId, number][];
  spent: [AgentId, number][];
  leases: [AgentId, number][];
  /** What lost agents had said themselves, of which more is taken for spent. */
  said?: [AgentId, number][];
  largest?: [AgentId, number][];
  told?: [AgentId, number][];
}

/** This part of a limit stays for last reports. */
const RESERVED = 0.1;
/** And this part of it for that of whoever the limit is for, or more where its steps are larger. */
const KEPT = RESERVED / 2;
/** Of what is free, one agent gets at most this part at once, so that it need not ask before each model call. */
const LEASED = 1 / 32;
/** And all agents together at most this one: what others hold, nobody can use. */
const LEASED_TO_ALL = 1 / 8;
/** A smaller lease is spent within a call. */
const LEAST_LEASE = 1_000;

/**
 * The tokens of a session, counted by the root. A limit is an agent's, and bounds it with all agents below it: that of
 * the root is the session's budget, that of any other agent its share. A limited agent asks before a model call, and
 * gets a part of what is free to spend without asking again; under each limit all such leases together are never more
 * than what is free.
 *
 * Nobody knows what a step takes before it is taken: the largest one that the agent has told of stands for the next,
 * and for its last report. One is begun where both fit in beside the steps that are under way, and the reports that are
 * still to come.
 */
export class Budget {
  /** The root's, and of others those that are tighter than every limit above them. */
  readonly #limits: Map<AgentId, number>;
  readonly #spent: Map<AgentId, number>;
  /** Of each agent in a turn: how many tokens it may have spent, over its whole life, by the time it asks again. */
  readonly #leases: Map<AgentId, number>;
  /** Of agents that were lost: what they had said themselves, until they come back and say more. */
  readonly #said: Map<AgentId, number>;
  readonly #largest: Map<AgentId, number>;
  /** What an agent had spent when it was told to make its last report, until it may go on after all. */
  readonly #told: Map<AgentId, number>;

  constructor(carry?: Partial<BudgetCarry>) {
    this.#limits = new Map(carry?.limits);
    this.#spent = new Map(carry?.spent);
    this.#leases = new Map(carry?.leases);
    this.#said = new Map(carry?.said);
    this.#largest = new Map(carry?.largest);
    this.#told = new Map(carry?.told);
  }

  /** What an agent may use with all below it, in tokens. No limit, or one that its parents' imply, changes nothing. */
  bound(agent: AgentId, limit: number | undefined): void {
    if (limit !== undefined && this.#limitsOf(agent).every(([, tokens]) => limit < tokens)) {
      this.#limits.set(agent, limit);
    }
  }

  answer({ request_id, from, spent, expected = 0, shrunk = false }: BudgetRequest): BudgetAnswer {
    const limits = this.#limitsOf(from);
    if (limits.length === 0) return { request_id, outcome: 'go' };
    this.#spend(from, spent);
    this.#leases.delete(from);
    const step = shrunk ? expected : Math.max(this.#largest.get(from) ?? 0, expected);
    this.#largest.set(from, step);
    let lease = Number.POSITIVE_INFINITY;
    let refusal: BudgetRefusal | undefined;
    for (const [holder, limit] of limits) {
      const { used, underWay, reports, inTurn } = this.#account(holder, limit, from);
      const taken = used + underWay;
      const free = Math.min(limit * (1 - RESERVED) - taken, limit - taken - reports - 2 * step);
      if (taken < limit * (1 - RESERVED) && free >= 0) {
        lease = Math.min(lease, free * LEASED, (free * LEASED_TO_ALL) / (inTurn + 1));
        continue;
      }
      const outcome = this.#mayReport(from, step, { holder, limit, used, underWay }) ? 'last' : 'stop';
      if (refusal?.outcome !== 'stop' && refusal?.outcome !== outcome) {
        refusal = { outcome, holder, used, limit };
      }
    }
    if (refusal !== undefined) return { request_id, ...this.#refuse(from, step, refusal) };
    this.#told.delete(from);
    // Where no step is known, the next one tells more than a lease is worth.
    const until = lease < LEAST_LEASE || step === 0 ? spent : spent + Math.floor(lease);
    // The step that passes it is begun before.
    this.#leases.set(from, until + step);
    return until === spent ? { request_id, outcome: 'go' } : { request_id, outcome: 'go', until };
  }

  /** What an agent has spent by its report; one whose turn has ended gives its lease back. */
  report(agent: AgentId, spent: number, isFinal: boolean): void {
    this.#spend(agent, spent);
    if (isFinal) this.#leases.delete(agent);
  }

  /** An agent that asks again before its next step, since it waits for others. Its last report is still to come. */
  pause(agent: AgentId, spent = 0): void {
    this.#spend(agent, spent);
    if (this.#leases.has(agent)) this.#leases.set(agent, this.#spent.get(agent) ?? 0);
  }

  /**
   * An agent that can spend nothing any more, nor say what it has spent. Its whole lease is taken for that, until it
   * comes back and says the number.
   */
  lost(agent: AgentId): void {
    const said = this.#spent.get(agent) ?? 0;
    const lease = this.#leases.get(agent) ?? 0;
    this.#leases.delete(agent);
    if (lease <= said) return;
    this.#said.set(agent, this.#said.get(agent) ?? said);
    this.#spent.set(agent, lease);
  }

  /** An agent that has not come into being. */
  forget(agent: AgentId): void {
    this.#limits.delete(agent);
  }

  #spend(agent: AgentId, spent: number): void {
    // Limits are there before those whom they bind.
    if (this.#limitsOf(agent).length === 0) return;
    const known = this.#said.get(agent) ?? this.#spent.get(agent) ?? 0;
    this.#said.delete(agent);
    this.#spent.set(agent, Math.max(spent, known));
  }

  /** What a limit is used for, seen by one that asks: what the others may still take of it. */
  #account(holder: AgentId, limit: number, from: AgentId) {
    let used = 0;
    let underWay = 0;
    let reports = from === holder ? 0 : Math.max(limit * KEPT, this.#largest.get(holder) ?? 0);
    let inTurn = 0;
    for (const [agent, spent] of this.#spent) {
      if (agent !== holder && !isBelow(agent, holder)) continue;
      used += spent;
      const lease = this.#leases.get(agent);
      if (lease === undefined) continue;
      inTurn++;
      underWay += Math.max(0, lease - spent);
      // Whoever the limit is for goes before the reports of those below it.
      const isToCome = agent !== holder && from !== holder && !this.#told.has(agent);
      if (isToCome) reports += this.#largest.get(agent) ?? 0;
    }
    return { used, underWay, reports, inTurn };
  }

  /**
   * Whether one more step is left for a last report. That of whoever the limit is for does not depend on what those
   * below it have used: once, it is only bounded by its own use. Of theirs one is made that about fits.
   */
  #mayReport(
    from: AgentId,
    step: number,
    { holder, limit, used, underWay }: { holder: AgentId; limit: number; used: number; underWay: number },
  ): boolean {
    if (from !== holder) {
      const kept = Math.max(limit * KEPT, this.#largest.get(holder) ?? 0);
      return limit - kept - used - underWay > step / 2;
    }
    const spent = this.#spent.get(holder) ?? 0;
    const isOwed = (this.#told.get(holder) ?? spent) === spent && spent + step <= limit;
    return used < limit || isOwed;
  }

  #refuse(from: AgentId, step: number, refusal: BudgetRefusal): BudgetRefusal {
    if (refusal.outcome === 'stop') return refusal;
    const spent = this.#spent.get(from) ?? 0;
    if (!this.#told.has(from)) this.#told.set(from, spent);
    this.#leases.set(from, spent + step);
    return refusal;
  }

  /** The limits that bind an agent, from the root's down to its own. */
  #limitsOf(agent: AgentId): [AgentId, number][] {
    const limits: [AgentId, number][] = [];
    for (let at: AgentId | undefined = agent; at !== undefined; at = parentOf(at)) {
      const limit = this.#limits.get(at);
      if (limit !== undefined) limits.unshift([at, limit]);
    }
    return limits;
  }

  get carry(): BudgetCarry {
    return {
      limits: [...this.#limits],
      spent: [...this.#spent],
      leases: [...this.#leases],
      said: [...this.#said],
      largest: [...this.#largest],
      told: [...this.#told],
    };
  }
}
