import type { AgentId, BudgetAnswer, BudgetRequest } from '../protocol/index.ts';

export interface BudgetCarry {
  spent: [AgentId, number][];
  leases: [AgentId, number][];
}

/** This part of a budget stays for last reports. */
const RESERVED = 0.1;
/** Of what is free, one agent gets this part at once, so that it need not ask before each model call. */
const LEASED = 1 / 32;
/** A smaller lease is spent within a call. */
const LEAST_LEASE = 1_000;

/**
 * The tokens of a session, counted by the root. An agent asks before a model call, and gets a part of what is free to
 * spend without asking again; all such leases together are never more than what is free.
 */
export class Budget {
  readonly #limit: number;
  readonly #spent: Map<AgentId, number>;
  /** How many tokens an agent may have spent, over its whole life, before it asks again. */
  readonly #leases: Map<AgentId, number>;

  /** @param limit tokens, of all agents together */
  constructor(limit: number, carry: BudgetCarry = { spent: [], leases: [] }) {
    this.#limit = limit;
    this.#spent = new Map(carry.spent);
    this.#leases = new Map(carry.leases);
  }

  answer({ request_id, from, spent }: BudgetRequest): BudgetAnswer {
    this.#spent.set(from, spent);
    this.#leases.delete(from);
    const used = this.#used;
    const outcome = budgetOutcome(used, this.#limit);
    const lease = outcome === 'go' ? Math.floor((this.#open - used - this.#leased) * LEASED) : 0;
    if (lease < LEAST_LEASE) return { request_id, outcome, used, limit: this.#limit };
    this.#leases.set(from, spent + lease);
    return { request_id, outcome, used, limit: this.#limit, until: spent + lease };
  }

  /** What an agent has spent by its report; one whose turn has ended gives its lease back. */
  report(agent: AgentId, spent: number, isFinal: boolean): void {
    this.#spent.set(agent, Math.max(spent, this.#spent.get(agent) ?? 0));
    if (isFinal) this.#leases.delete(agent);
  }

  /** Tokens that go before the reserve. */
  get #open(): number {
    return this.#limit * (1 - RESERVED);
  }

  get #used(): number {
    let used = 0;
    for (const spent of this.#spent.values()) used += spent;
    return used;
  }

  /** Tokens that are promised and not spent. */
  get #leased(): number {
    let leased = 0;
    for (const [agent, until] of this.#leases) leased += Math.max(0, until - (this.#spent.get(agent) ?? 0));
    return leased;
  }

  get carry(): BudgetCarry {
    return { spent: [...this.#spent], leases: [...this.#leases] };
  }
}

/** What one may still do who has used so many of so many tokens. */
export function budgetOutcome(used: number, limit: number): BudgetAnswer['outcome'] {
  if (used >= limit) return 'stop';
  return used >= limit * (1 - RESERVED) ? 'last' : 'go';
}
