import type { AgentId, BudgetAnswer, BudgetRequest } from '../protocol/index.ts';

export interface BudgetCarry {
  spent: [AgentId, number][];
}

/** This part of a budget stays for last reports. */
const RESERVED = 0.1;

/** The tokens of a session, counted by the root: every agent tells what it has used before each model call. */
export class Budget {
  readonly #spent: Map<AgentId, number>;
  readonly #limit: number;

  /** @param limit tokens, of all agents together */
  constructor(limit: number, carry: BudgetCarry = { spent: [] }) {
    this.#limit = limit;
    this.#spent = new Map(carry.spent);
  }

  answer(request: BudgetRequest): BudgetAnswer {
    this.#spent.set(request.from as AgentId, request.spent);
    let used = 0;
    for (const spent of this.#spent.values()) used += spent;
    const outcome = budgetOutcome(used, this.#limit);
    return { request_id: request.request_id, outcome, used, limit: this.#limit };
  }

  get carry(): BudgetCarry {
    return { spent: [...this.#spent] };
  }
}

/** What one may still do who has used so many of so many tokens. */
export function budgetOutcome(used: number, limit: number): BudgetAnswer['outcome'] {
  if (used >= limit) return 'stop';
  return used >= limit * (1 - RESERVED) ? 'last' : 'go';
}
