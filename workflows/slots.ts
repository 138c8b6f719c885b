import { counted } from '../protocol/counted.ts';
import { parentOf } from '../protocol/ids.ts';
import type { AgentId, ErrorBody, Limits } from '../protocol/index.ts';
import { type Holders, slotsFull } from './full-slots.ts';

/** Somebody who waits for a slot, and under which request it is told. */
export interface Claim {
  agent: AgentId;
  requestId: string;
}

export interface SlotsCarry {
  working: AgentId[];
  lent: AgentId[];
  /** Where open agents hold slots: those that do nothing, and those of them whose slot works below them. */
  idle?: AgentId[];
  given?: AgentId[];
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
 *
 * Never more agents are at work than there are slots. Where open agents hold slots, the idle ones count against those
 * that are to come; not against the ones that are there, which go on as soon as one fewer works than may.
 */
export class Slots {
  readonly #limits: SlotLimits;
  /** In a turn, or about to begin one. */
  readonly #working: Set<AgentId>;
  /** In a turn, and blocked. */
  readonly #lent: Set<AgentId>;
  readonly #idle: Set<AgentId>;
  readonly #given: Set<AgentId>;
  /** Agents that are there and go on: ahead of the queue. */
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
    this.#idle = new Set(carry.idle);
    this.#given = new Set(carry.given);
    this.#reclaiming = [...carry.reclaiming];
    this.#queue = [...carry.queue];
    this.#spawned = carry.spawned;
  }

  get holders(): AgentId[] {
    return [...this.#working, ...this.#idle];
  }

  /** Whether an agent may hold a slot and do nothing. */
  get heldByIdle(): boolean {
    return this.#limits.count === 'open';
  }

  /** Agents that have gone on after others had their slot may be more than there are slots: not at work, but open. */
  get used(): number {
    return Math.min(this.#held, this.max);
  }

  get max(): number {
    return this.#limits.max_threads;
  }

  /** Whether somebody works, lends, or waits to work. */
  get busy(): boolean {
    return this.#working.size + this.#lent.size + this.#reclaiming.length + this.#queue.length > 0;
  }

  /** Whether agents wait for slots that only idle ones hold, and nobody works who could close one of those. */
  get standsStill(): boolean {
    return this.#queue.length > 0 && this.#working.size === 0;
  }

  /** Whether somebody is in a turn, and waits. */
  get lends(): boolean {
    return this.#lent.size > 0;
  }

  get queued(): AgentId[] {
    return [...new Set(this.#queue.map(({ agent }) => agent))];
  }

  /**
   * A slot for an agent that is about to be started; counts it against `max_agents`.
   *
   * @param idle it starts no turn: it needs one only where open agents hold slots
   */
  reserveSpawn(claim: Claim, queue: boolean, idle = false): SlotOutcome {
    if (this.#spawned >= this.#limits.max_agents) {
      const error: ErrorBody = {
        code: 'limit_agents',
        message: `This session has spawned ${counted(this.#spawned, 'agent')}, the most it may (agents.max_agents).`,
        hint: 'Work with the agents there are, or do the rest yourself.',
        retryable: false,
      };
      return { outcome: 'refused', error };
    }
    const outcome = idle && !this.heldByIdle ? GRANTED : this.reserve(claim, queue);
    if (outcome.outcome !== 'refused') this.#spawned++;
    if (idle && this.#working.delete(claim.agent)) this.#idle.add(claim.agent);
    return outcome;
  }

  /** Asked for another agent, which may already work, wait, or stand in line under a request of its own. */
  reserve(claim: Claim, queue: boolean): SlotOutcome {
    const { agent } = claim;
    if (this.#lent.has(agent) || this.#take(agent) || (queue && this.#takeFromAbove(agent))) return GRANTED;
    if (!queue) {
      const error = this.#hasHad(agent) ? slotsFull(this.#holders, true) : this.full;
      return { outcome: 'refused', error };
    }
    const line = this.#lineOf(agent);
    if (!line.some((waiting) => waiting.agent === agent)) line.push(claim);
    return QUEUED;
  }

  /** Asked by the agent that is about to work. It has one place in its line, but every request of its is answered. */
  reclaim(claim: Claim): SlotOutcome {
    const { agent } = claim;
    if (this.#take(agent) || this.#takeFromAbove(agent)) return GRANTED;
    const line = this.#lineOf(agent);
    const last = line.findLastIndex((waiting) => waiting.agent === agent);
    line.splice(last < 0 ? line.length : last + 1, 0, claim);
    return QUEUED;
  }

  /** Why nobody comes in any more. Where open agents hold slots, no end of a turn helps one that is to come. */
  get full(): ErrorBody {
    return slotsFull(this.#holders, !this.heldByIdle);
  }

  /** Undoes a reservation for an agent that could not be started. */
  cancelSpawn(agent: AgentId): Claim[] {
    this.#spawned--;
    return this.closed(agent);
  }

  /** The turn of this agent has ended. Returns the claims that are granted by it. */
  turnEnded(agent: AgentId): Claim[] {
    if (!this.heldByIdle) return this.closed(agent);
    const was = this.#working.delete(agent) || this.#lent.delete(agent);
    if (was) this.#idle.add(agent);
    this.#dropClaims(agent);
    return this.#grant();
  }

  closed(agent: AgentId): Claim[] {
    for (const group of this.#groups) group.delete(agent);
    this.#dropClaims(agent);
    return this.#grant();
  }

  /** Nobody works any more; what was spawned stays counted. */
  reopen(): void {
    for (const group of this.#groups) group.clear();
    this.#reclaiming = [];
    this.#queue = [];
  }

  lend(agent: AgentId): Claim[] {
    if (!this.#working.delete(agent)) return [];
    this.#lent.add(agent);
    return this.#grant();
  }

  /** Sends away all that wait for slots of idle agents. Those that go on after a wait are never among them. */
  refuseQueue(): Claim[] {
    return this.#queue.splice(0);
  }

  get #holders(): Holders {
    return { max: this.max, working: [...this.#working], idle: [...this.#idle] };
  }

  get #groups(): Set<AgentId>[] {
    return [this.#working, this.#lent, this.#idle, this.#given];
  }

  get #held(): number {
    return this.#working.size + this.#idle.size;
  }

  /** Whether it has had a slot since it was started, and goes on or takes input ahead of those that have had none. */
  #hasHad(agent: AgentId): boolean {
    return this.#lent.has(agent) || this.#idle.has(agent) || this.#given.has(agent);
  }

  #lineOf(agent: AgentId): Claim[] {
    return this.#hasHad(agent) ? this.#reclaiming : this.#queue;
  }

  #take(agent: AgentId): boolean {
    if (this.#working.has(agent)) return true;
    if ((this.#hasHad(agent) ? this.#working.size : this.#held) >= this.max) return false;
    this.#put(agent);
    return true;
  }

  /** Takes the slot of the nearest idle agent above, which would be waited for in vain; it goes on when it has to. */
  #takeFromAbove(agent: AgentId): boolean {
    if (this.#hasHad(agent) || this.#working.size >= this.max || this.#held > this.max) return false;
    for (let above = parentOf(agent); above !== undefined; above = parentOf(above)) {
      if (!this.#idle.delete(above)) continue;
      this.#given.add(above);
      this.#put(agent);
      return true;
    }
    return false;
  }

  #put(agent: AgentId): void {
    for (const group of this.#groups) group.delete(agent);
    this.#working.add(agent);
  }

  #dropClaims(agent: AgentId): void {
    this.#reclaiming = this.#reclaiming.filter((claim) => claim.agent !== agent);
    this.#queue = this.#queue.filter((claim) => claim.agent !== agent);
  }

  #grant(): Claim[] {
    const granted: Claim[] = [];
    for (;;) {
      const line = this.#reclaiming.length > 0 ? this.#reclaiming : this.#queue;
      const agent = line[0]?.agent;
      if (agent !== undefined && this.#take(agent)) granted.push(...takeClaims(line, agent));
      else break;
    }
    // What is left in front needs a slot that nobody has free, which may be no reason to wait for one further behind.
    for (const agent of this.queued) {
      if (this.#takeFromAbove(agent)) granted.push(...takeClaims(this.#queue, agent));
    }
    return granted;
  }

  get carry(): SlotsCarry {
    return {
      working: [...this.#working],
      lent: [...this.#lent],
      ...(this.heldByIdle ? { idle: [...this.#idle], given: [...this.#given] } : {}),
      reclaiming: this.#reclaiming,
      queue: this.#queue,
      spawned: this.#spawned,
    };
  }
}

/** All claims of an agent, which stand side by side. */
function takeClaims(line: Claim[], agent: AgentId): Claim[] {
  const first = line.findIndex((waiting) => waiting.agent === agent);
  const count = line.filter((waiting) => waiting.agent === agent).length;
  return line.splice(first, count);
}
