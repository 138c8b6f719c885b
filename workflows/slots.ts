import { counted } from '../protocol/counted.ts';
import type { AgentId, ErrorBody, Limits } from '../protocol/index.ts';

/** Somebody who waits for a slot, and under which request it is told. */
export interface Claim {
  agent: AgentId;
  requestId: string;
}

export interface SlotsCarry {
  working: AgentId[];
  lent: AgentId[];
  reclaiming: Claim[];
  queue: Claim[];
  spawned: number;
}

export type SlotOutcome =
  | { outcome: 'granted' }
  | { outcome: 'queued' }
  | { outcome: 'refused'; error: ErrorBody };

const GRANTED: SlotOutcome = { outcome: 'granted' };
const QUEUED: SlotOutcome = { outcome: 'queued' };

type SlotLimits = Pick<Limits, 'max_threads' | 'max_agents' | 'count'>;

/**
 * The root's ledger of who may work at the same time. It alone counts, so the limits are exact: reserve leads to
 * granted, queued or refused; a slot comes back when the turn ends (or, with `count = "open"`, when the agent
 * closes), and is lent while its holder waits for others.
 */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #working: Set<AgentId>;
  readonly #lent: Set<AgentId>;
  #reclaiming: Claim[];
  #queue: Claim[];
  #spawned: number;

  constructor(
    limits: SlotLimits,
    carry: SlotsCarry = { working: [], lent: [], reclaiming: [], queue: [], spawned: 0 },
  ) {
    this.#limits = limits;
    this.#working = new Set(carry.working);
    this.#lent = new Set(carry.lent);
    this.#reclaiming = [...carry.reclaiming];
    this.#queue = [...carry.queue];
    this.#spawned = carry.spawned;
  }

  get holders(): AgentId[] {
    return [...this.#working];
  }

  /** Whether an agent may hold a slot and do nothing. */
  get heldByIdle(): boolean {
    return this.#limits.count === 'open';
  }

  get used(): number {
    return this.#working.size;
  }

  get max(): number {
    return this.#limits.max_threads;
  }

  /** Whether somebody works, lends, or waits to work. */
  get busy(): boolean {
    // Where open agents hold slots, a holder may well be idle: what the agents report tells who works.
    if (this.#limits.count === 'open') return this.#queue.length > 0;
    return this.#working.size + this.#lent.size + this.#queue.length > 0;
  }

  /** A slot for an agent that is about to be started; counts it against `max_agents`. */
  reserveSpawn(claim: Claim, queue: boolean): SlotOutcome {
    if (this.#spawned >= this.#limits.max_agents) {
      return refused(
        'limit_agents',
        `This session has spawned ${counted(this.#spawned, 'agent')}, the most it may (agents.max_agents).`,
        'Work with the agents there are, or do the rest yourself.',
      );
    }
    const outcome = this.reserve(claim, queue);
    if (outcome.outcome !== 'refused') this.#spawned++;
    return outcome;
  }

  /** Asked for another agent, which may already work, wait, or stand in line under a request of its own. */
  reserve(claim: Claim, queue: boolean): SlotOutcome {
    if (this.#lent.has(claim.agent) || this.#take(claim)) return GRANTED;
    if (queue) {
      if (!this.#queue.some((waiting) => waiting.agent === claim.agent)) this.#queue.push(claim);
      return QUEUED;
    }
    const holders = this.holders.join(', ');
    const frees =
      this.#limits.count === 'open'
        ? 'Close one (close_agent) and try again.'
        : 'Wait for one to finish (wait), or close one (close_agent), and try again.';
    return refused(
      'limit_threads',
      `All ${this.max} slots for agents are taken (agents.max_threads). Holders: ${holders}.`,
      frees,
    );
  }

  /** Undoes a reservation for an agent that could not be started. */
  cancelSpawn(agent: AgentId): Claim[] {
    this.#spawned--;
    return this.#remove(agent);
  }

  /** The turn of this agent has ended. Returns the claims that are granted by it. */
  turnEnded(agent: AgentId): Claim[] {
    return this.#limits.count === 'open' ? [] : this.#remove(agent);
  }

  closed(agent: AgentId): Claim[] {
    return this.#remove(agent);
  }

  /** Nobody works any more; what was spawned stays counted. */
  reopen(): void {
    this.#working.clear();
    this.#lent.clear();
    this.#reclaiming = [];
    this.#queue = [];
  }

  lend(agent: AgentId): Claim[] {
    if (this.#limits.count === 'open' || !this.#working.delete(agent)) return [];
    this.#lent.add(agent);
    return this.#grant();
  }

  /** Asked by the agent that is about to work. It has one place in its line, but every request of its is answered. */
  reclaim(claim: Claim): SlotOutcome {
    if (this.#take(claim)) return GRANTED;
    const line = this.#lent.has(claim.agent) ? this.#reclaiming : this.#queue;
    const last = line.findLastIndex((waiting) => waiting.agent === claim.agent);
    line.splice(last < 0 ? line.length : last + 1, 0, claim);
    return QUEUED;
  }

  #take({ agent }: Claim): boolean {
    if (this.#working.has(agent)) return true;
    if (this.#free <= 0) return false;
    this.#lent.delete(agent);
    this.#working.add(agent);
    return true;
  }

  get #free(): number {
    return this.#limits.max_threads - this.#working.size;
  }

  #remove(agent: AgentId): Claim[] {
    this.#working.delete(agent);
    this.#lent.delete(agent);
    this.#reclaiming = this.#reclaiming.filter((claim) => claim.agent !== agent);
    this.#queue = this.#queue.filter((claim) => claim.agent !== agent);
    return this.#grant();
  }

  #grant(): Claim[] {
    const granted: Claim[] = [];
    while (this.#free > 0) {
      const line = this.#reclaiming.length > 0 ? this.#reclaiming : this.#queue;
      const agent = line[0]?.agent;
      if (agent === undefined) break;
      this.#lent.delete(agent);
      this.#working.add(agent);
      granted.push(...line.splice(0, runOf(line, agent)));
    }
    return granted;
  }

  get carry(): SlotsCarry {
    return {
      working: [...this.#working],
      lent: [...this.#lent],
      reclaiming: this.#reclaiming,
      queue: this.#queue,
      spawned: this.#spawned,
    };
  }
}

/** How many claims at the head of a line are of that agent. */
function runOf(line: Claim[], agent: AgentId): number {
  const next = line.findIndex((waiting) => waiting.agent !== agent);
  return next < 0 ? line.length : next;
}

function refused(code: ErrorBody['code'], message: string, hint: string): SlotOutcome {
  return { outcome: 'refused', error: { code, message, hint, retryable: code === 'limit_threads' } };
}
