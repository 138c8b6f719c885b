import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentId } from '../../protocol/index.ts';
import { type Claim, type SlotOutcome, Slots } from '../../workflows/slots.ts';
import { agentId } from './agent-views.ts';

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map(agentId) as [AgentId, AgentId, AgentId, AgentId];
type SlotLimits = ConstructorParameters<typeof Slots>[0];
const limits = (change: Partial<SlotLimits> = {}): SlotLimits => ({
  max_threads: 1,
  max_agents: 200,
  count: 'running',
  ...change,
});
const claim = (agent: AgentId, requestId = `${agent}#r1`): Claim => ({ agent, requestId });
const GRANTED = { outcome: 'granted' };
const QUEUED = { outcome: 'queued' };

describe('the ledger of slots', () => {
  test('grants as many as there are, and refuses the next, naming the holders and what frees one', () => {
    const slots = new Slots(limits({ max_threads: 2 }));
    expect(slots.reserveSpawn(claim(A), false)).toEqual(GRANTED);
    expect(slots.reserveSpawn(claim(B), false)).toEqual(GRANTED);
    const outcome = slots.reserveSpawn(claim(C), false);
    expect(outcome).toMatchObject({ outcome: 'refused', error: { code: 'limit_threads', retryable: true } });
    const { message, hint } = (outcome as Extract<SlotOutcome, { outcome: 'refused' }>).error;
    expect(message).toContain(`Holders: ${A}, ${B}.`);
    expect(message).toContain('agents.max_threads');
    expect(hint).toContain('Wait for one to finish');
    expect([slots.used, slots.max]).toEqual([2, 2]);
  });

  test('does not count an agent whose turn has ended', () => {
    const slots = new Slots(limits());
    slots.reserveSpawn(claim(A), false);
    expect(slots.turnEnded(A)).toEqual([]);
    expect(slots.busy).toBe(false);
    expect(slots.reserveSpawn(claim(B), false)).toEqual(GRANTED);
  });

  test('counts an open agent until it is closed, where open ones count', () => {
    const slots = new Slots(limits({ count: 'open' }));
    slots.reserveSpawn(claim(A), false);
    slots.turnEnded(A);
    slots.lend(A);
    expect(slots.reserveSpawn(claim(B), false)).toMatchObject({
      error: { hint: expect.stringContaining('close_agent') },
    });
    expect(slots.reserve(claim(A), false)).toEqual(GRANTED);
    slots.closed(A);
    expect(slots.reserveSpawn(claim(B), false)).toEqual(GRANTED);
  });

  test('queues in order and grants in order', () => {
    const slots = new Slots(limits());
    slots.reserveSpawn(claim(A), true);
    expect(slots.reserveSpawn(claim(B), true)).toEqual(QUEUED);
    expect(slots.reserveSpawn(claim(C), true)).toEqual(QUEUED);
    expect(slots.turnEnded(A)).toEqual([claim(B)]);
    expect(slots.closed(B)).toEqual([claim(C)]);
    expect(slots.turnEnded(C)).toEqual([]);
  });

  test('keeps the place of an agent that asks itself, and answers its own request, too', () => {
    const slots = new Slots(limits());
    slots.reserve(claim(A), true);
    slots.reserve(claim(B, 'of a sender'), true);
    slots.reserve(claim(C), true);
    slots.reclaim(claim(B, 'of its own'));
    slots.reserve(claim(B, 'of another sender'), true);
    expect(slots.turnEnded(A)).toEqual([claim(B, 'of a sender'), claim(B, 'of its own')]);
    expect(slots.turnEnded(B)).toEqual([claim(C)]);
  });

  test('lends the slot of one that waits, and gives it back ahead of the queue', () => {
    const slots = new Slots(limits());
    slots.reserve(claim(A), true);
    slots.reserve(claim(B), true);
    slots.reserve(claim(C), true);
    expect(slots.lend(A)).toEqual([claim(B)]);
    expect(slots.reclaim(claim(A, 'back'))).toEqual(QUEUED);
    expect(slots.turnEnded(B)).toEqual([claim(A, 'back')]);
    expect(slots.turnEnded(A)).toEqual([claim(C)]);
  });

  test('answers both of two reclaims, and holds one slot for them', () => {
    const slots = new Slots(limits());
    slots.reserve(claim(A), true);
    slots.reserve(claim(B), true);
    slots.lend(A);
    slots.reclaim(claim(A, 'of a call'));
    slots.reclaim(claim(A, 'of the call beside it'));
    expect(slots.turnEnded(B)).toEqual([claim(A, 'of a call'), claim(A, 'of the call beside it')]);
    expect(slots.used).toBe(1);
    slots.reserve(claim(C), true);
    expect(slots.turnEnded(A)).toEqual([claim(C)]);
    expect(slots.turnEnded(C)).toEqual([]);
  });

  test('is busy while an agent that lends its slot waits, though nobody works', () => {
    const slots = new Slots(limits());
    slots.reserve(claim(A), true);
    slots.lend(A);
    expect([slots.used, slots.busy]).toEqual([0, true]);
    slots.turnEnded(A);
    expect(slots.busy).toBe(false);
  });

  test('reclaims like a reservation what was never lent', () => {
    const slots = new Slots(limits());
    expect(slots.reclaim(claim(A))).toEqual(GRANTED);
    expect(slots.reclaim(claim(A))).toEqual(GRANTED);
    expect(slots.reclaim(claim(B))).toEqual(QUEUED);
    expect(slots.used).toBe(1);
  });

  test('spawns no more agents than a session may ever have', () => {
    const slots = new Slots(limits({ max_agents: 2, max_threads: 5 }));
    slots.reserveSpawn(claim(A), false);
    slots.closed(A);
    slots.reserveSpawn(claim(B), false);
    expect(slots.reserveSpawn(claim(C), true)).toMatchObject({
      error: { code: 'limit_agents', retryable: false },
    });
    expect(slots.reserve(claim(A), false)).toEqual(GRANTED);
  });

  test('does not count what was refused, or could not be started', () => {
    const slots = new Slots(limits({ max_agents: 2 }));
    slots.reserveSpawn(claim(A), false);
    slots.reserveSpawn(claim(B), false);
    slots.reserve(claim(D), true);
    expect(slots.cancelSpawn(A)).toEqual([claim(D)]);
    slots.closed(D);
    expect(slots.reserveSpawn(claim(B), false)).toEqual(GRANTED);
    slots.closed(B);
    expect(slots.reserveSpawn(claim(C), false)).toEqual(GRANTED);
  });
});

/** What one agent does next; each is done only where the agent may do it. */
const acts = [
  'spawn',
  'spawn or queue',
  'send',
  'send or queue',
  'start turn',
  'end turn',
  'close',
  'crash',
  'resume',
  'lend',
  'reclaim',
  'cancel spawn',
  'continue as new',
] as const;
const histories = fc.array(fc.record({ act: fc.constantFrom(...acts), who: fc.nat(4) }), {
  maxLength: 150,
  size: 'max',
});

/** Plays agents that follow the rules against the ledger, and keeps its own account of who was promised what. */
class Account {
  slots: Slots;
  readonly #limits: SlotLimits;
  readonly working = new Set<AgentId>();
  readonly lending = new Set<AgentId>();
  /** Who waits for a slot, in order, under which request. */
  readonly owed: { claim: Claim; reclaims: boolean }[] = [];
  readonly born = new Set<AgentId>();
  readonly closed = new Set<AgentId>();
  #spawned = 0;
  #requests = 0;

  constructor(limited: SlotLimits) {
    this.#limits = limited;
    this.slots = new Slots(limited);
  }

  play(act: (typeof acts)[number], agent: AgentId): void {
    const request = claim(agent, `r${++this.#requests}`);
    switch (act) {
      case 'spawn':
      case 'spawn or queue': {
        if (this.born.has(agent)) return;
        const outcome = this.slots.reserveSpawn(request, act === 'spawn or queue');
        const full = this.#spawned >= this.#limits.max_agents;
        expect(outcome.outcome === 'refused' && outcome.error.code === 'limit_agents').toBe(full);
        if (outcome.outcome === 'refused') return;
        this.#spawned++;
        this.born.add(agent);
        this.#take(outcome, request);
        return;
      }
      case 'send':
      case 'send or queue':
        if (!this.#isOpen(agent)) return;
        // To one that works, waits or lends nothing changes: it goes on by itself.
        if (this.lending.has(agent))
          expect(this.slots.reserve(request, act === 'send or queue')).toEqual(GRANTED);
        else if (this.#waits(agent)) this.slots.reserve(request, act === 'send or queue');
        else this.#take(this.slots.reserve(request, act === 'send or queue'), request);
        return;
      case 'start turn':
      case 'reclaim':
        if (!this.#isOpen(agent) || (act === 'reclaim' && !this.lending.has(agent))) return;
        this.#take(this.slots.reclaim(request), request, this.lending.has(agent));
        return;
      case 'end turn':
        if (!this.working.has(agent) && !this.lending.has(agent)) return;
        // Where open agents hold slots, it keeps its own.
        if (this.#holdOpen) expect(this.slots.turnEnded(agent)).toEqual([]);
        else this.#leave(agent, this.slots.turnEnded(agent));
        return;
      case 'close':
        if (this.born.has(agent)) this.closed.add(agent);
        this.#leave(agent, this.slots.closed(agent));
        return;
      case 'crash':
        // Whoever notices says so, and so does whoever ends what is left: more than once, and whatever it was doing.
        if (this.born.has(agent)) this.closed.add(agent);
        this.#leave(agent, this.slots.closed(agent));
        expect(this.slots.closed(agent)).toEqual([]);
        return;
      case 'resume':
        // It takes a slot again only where open agents hold them.
        if (!this.closed.delete(agent) || !this.#holdOpen) return;
        this.#take(this.slots.reserve(request, true), request);
        this.play('start turn', agent);
        return;
      case 'cancel spawn':
        if (!this.#isOpen(agent)) return;
        this.born.delete(agent);
        this.#spawned--;
        this.#leave(agent, this.slots.cancelSpawn(agent));
        return;
      case 'lend':
        if (!this.working.has(agent)) return;
        if (this.#holdOpen) {
          expect(this.slots.lend(agent)).toEqual([]);
          return;
        }
        this.working.delete(agent);
        this.lending.add(agent);
        this.#grant(this.slots.lend(agent));
        return;
      case 'continue as new':
        this.slots = new Slots(this.#limits, JSON.parse(JSON.stringify(this.slots.carry)));
        return;
    }
  }

  get #holdOpen(): boolean {
    return this.#limits.count === 'open';
  }

  #isOpen(agent: AgentId): boolean {
    return this.born.has(agent) && !this.closed.has(agent);
  }

  /** Under the request of whoever asked first and, once it has asked itself, its own. */
  #waits(agent: AgentId): boolean {
    return this.owed.some(({ claim }) => claim.agent === agent);
  }

  #take(outcome: SlotOutcome, request: Claim, reclaims = false): void {
    const last = this.owed.findLastIndex(({ claim }) => claim.agent === request.agent);
    if (outcome.outcome === 'refused') return;
    if (outcome.outcome === 'granted') {
      this.working.add(request.agent);
      this.lending.delete(request.agent);
      this.#forget(request.agent);
    } else {
      this.owed.splice(last < 0 ? this.owed.length : last + 1, 0, { claim: request, reclaims });
    }
  }

  #leave(agent: AgentId, granted: Claim[]): void {
    this.working.delete(agent);
    this.lending.delete(agent);
    this.#forget(agent);
    this.#grant(granted);
  }

  #forget(agent: AgentId): void {
    for (let at = this.owed.length - 1; at >= 0; at--) {
      if (this.owed[at]?.claim.agent === agent) this.owed.splice(at, 1);
    }
  }

  #grant(granted: Claim[]): void {
    let previous: AgentId | undefined;
    for (const claim of granted) {
      // Every request of one agent is answered together.
      const next =
        this.owed.find(({ claim: { agent } }) => agent === previous) ??
        this.owed.find(({ reclaims }) => reclaims) ??
        this.owed[0];
      expect(claim).toEqual(next?.claim);
      if (next !== undefined) this.owed.splice(this.owed.indexOf(next), 1);
      this.lending.delete(claim.agent);
      this.working.add(claim.agent);
      previous = claim.agent;
    }
  }

  check(): void {
    expect(this.working.size).toBeLessThanOrEqual(this.#limits.max_threads);
    expect(this.slots.used).toBe(this.working.size);
    if (this.owed.length > 0) expect(this.working.size).toBe(this.#limits.max_threads);
    const holders = this.#holdOpen ? 0 : this.working.size + this.lending.size;
    expect(this.slots.busy).toBe(holders + this.owed.length > 0);
    for (const { claim } of this.owed) expect(this.working.has(claim.agent)).toBe(false);
  }
}

test('for any order of events no more agents work than may, and whoever waits is granted a slot in the end', () => {
  fc.assert(
    fc.property(
      histories,
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom('running' as const, 'open' as const),
      (history, threads, most, count) => {
        const account = new Account(limits({ max_threads: threads, max_agents: most, count }));
        for (const { act, who } of history) {
          account.play(act, agentId(`worker-${who}`));
          account.check();
        }
        for (const agent of [...account.lending]) account.play('reclaim', agent);
        while (account.working.size > 0) {
          account.play(count === 'open' ? 'close' : 'end turn', [...account.working][0] as AgentId);
          account.check();
        }
        expect(account.owed).toEqual([]);
        expect([account.slots.used, account.slots.busy]).toEqual([0, false]);
      },
    ),
    { numRuns: 200 },
  );
});
