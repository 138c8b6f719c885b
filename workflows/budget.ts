import { isBelow, parentOf } from '../protocol/ids.ts';
import type { AgentId, BudgetAnswer, BudgetRefusal, BudgetRequest } from '../protocol/index.ts';

export interface BudgetCarry {
  limits: [AgentId, number][];
  spent: [AgentId, number][];
  leases: [AgentId, number][];
  /** What lost agents had said themselves, of which more is taken for spent. */
  said?: [AgentId, number][];
}

/** This part of a limit stays for last reports. */
const RESERVED = 0.1;
/** Of what is free, one agent gets this part at once, so that it need not ask before each model call. */
const LEASED = 1 / 32;
/** A smaller lease is spent within a call. */
const LEAST_LEASE = 1_000;

/**
 * The tokens of a session, counted by the root. A limit is an agent's, and bounds it with all agents below it: that of
 * the root is the session's budget, that of any other agent its share. A limited agent asks before a model call, and
 * gets a part of what is free to spend without asking again; under each limit all such leases together are never more
 * than what is free.
 */
export class Budget {
  /** The root's, and of others those that are tighter than every limit above them. */
  readonly #limits: Map<AgentId, number>;
  readonly #spent: Map<AgentId, number>;
  /** How many tokens an agent may have spent, over its whole life, before it asks again. */
  readonly #leases: Map<AgentId, number>;
  /** Of agents that were lost: what they had said themselves, until they come back and say more. */
  readonly #said: Map<AgentId, number>;

  constructor(carry?: Partial<BudgetCarry>) {
    this.#limits = new Map(carry?.limits);
    this.#spent = new Map(carry?.spent);
    this.#leases = new Map(carry?.leases);
    this.#said = new Map(carry?.said);
  }

  /** What an agent may use with all below it, in tokens. No limit, or one that its parents' imply, changes nothing. */
  bound(agent: AgentId, limit: number | undefined): void {
    if (limit !== undefined && this.#limitsOf(agent).every(([, tokens]) => limit < tokens)) {
      this.#limits.set(agent, limit);
    }
  }

  answer({ request_id, from, spent, expected = 0 }: BudgetRequest): BudgetAnswer {
    this.#spend(from, spent);
    this.#leases.delete(from);
    let free = Number.POSITIVE_INFINITY;
    let refusal: BudgetRefusal | undefined;
    for (const [holder, limit] of this.#limitsOf(from)) {
      const used = this.#sum(holder, (agent) => this.#spent.get(agent) ?? 0);
      const outcome = outcomeOf(used, limit, expected);
      if (outcome === 'go') {
        const leased = this.#sum(holder, (agent) => this.#leasedTo(agent));
        free = Math.min(free, openOf(limit) - used - leased);
      } else if (refusal?.outcome !== 'stop' && refusal?.outcome !== outcome) {
        refusal = { outcome, holder, used, limit };
      }
    }
    if (refusal !== undefined) return { request_id, ...refusal };
    const lease = Math.floor(free * LEASED);
    if (lease < LEAST_LEASE || lease === Number.POSITIVE_INFINITY) return { request_id, outcome: 'go' };
    this.#leases.set(from, spent + lease);
    return { request_id, outcome: 'go', until: spent + lease };
  }

  /** What an agent has spent by its report; one whose turn has ended gives its lease back. */
  report(agent: AgentId, spent: number, isFinal: boolean): void {
    this.#spend(agent, spent);
    if (isFinal) this.#leases.delete(agent);
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

  /** Tokens that are promised to an agent, and that it has not spent. */
  #leasedTo(agent: AgentId): number {
    return Math.max(0, (this.#leases.get(agent) ?? 0) - (this.#spent.get(agent) ?? 0));
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

  /** Over an agent and all below it that have ever asked or reported. */
  #sum(holder: AgentId, tokensOf: (agent: AgentId) => number): number {
    let sum = 0;
    for (const agent of this.#spent.keys()) {
      if (agent === holder || isBelow(agent, holder)) sum += tokensOf(agent);
    }
    return sum;
  }

  get carry(): BudgetCarry {
    return {
      limits: [...this.#limits],
      spent: [...this.#spent],
      leases: [...this.#leases],
      said: [...this.#said],
    };
  }
}

/** Tokens that go before the reserve. */
function openOf(limit: number): number {
  return limit * (1 - RESERVED);
}

/**
 * What one may still do where so many of so many tokens are used. A step that would leave nothing for a last report is
 * not taken: the report is asked for instead.
 */
function outcomeOf(used: number, limit: number, expected: number): BudgetAnswer['outcome'] {
  if (used >= limit) return 'stop';
  return used >= openOf(limit) || used + expected >= limit ? 'last' : 'go';
}
