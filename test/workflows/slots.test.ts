import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isBelow } from '../../protocol/ids.ts';
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
    expect([slots.turnEnded(A), slots.used, slots.busy]).toEqual([[], 1, false]);
    expect(slots.reserveSpawn(claim(B), false)).toMatchObject({
      error: {
        message: expect.stringContaining(`open and idle: ${A}`),
        hint: expect.stringContaining('close_agent'),
      },
    });
    expect(slots.reserve(claim(A), false)).toEqual(GRANTED);
    slots.closed(A);
    expect(slots.reserveSpawn(claim(B), false)).toEqual(GRANTED);
  });

  test('one that starts no turn takes a slot only where open agents hold them, and counts all the same', () => {
    const running = new Slots(limits({ max_agents: 2 }));
    running.reserveSpawn(claim(A), false);
    expect(running.reserveSpawn(claim(B), false, true)).toEqual(GRANTED);
    expect([running.used, running.holders]).toEqual([1, [A]]);
    expect(running.reserve(claim(B), false)).toMatchObject({ error: { code: 'limit_threads' } });
    expect(running.reserveSpawn(claim(C), false, true)).toMatchObject({ error: { code: 'limit_agents' } });

    const open = new Slots(limits({ count: 'open' }));
    expect(open.reserveSpawn(claim(A), false, true)).toEqual(GRANTED);
    expect([open.used, open.busy]).toEqual([1, false]);
    expect(open.reserveSpawn(claim(B), false, true)).toMatchObject({ error: { code: 'limit_threads' } });
    expect(open.reserve(claim(A), false)).toEqual(GRANTED);
    expect(open.busy).toBe(true);
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

describe('where open agents hold slots', () => {
  const [CHILD, OTHER_CHILD] = ['a/b', 'a/c'].map(agentId) as [AgentId, AgentId];
  const open = (max_threads = 1) => new Slots(limits({ count: 'open', max_threads }));

  test('one that waits lends its slot, and goes on though an idle one has it meanwhile', () => {
    const slots = open();
    slots.reserve(claim(A), true);
    expect(slots.reserve(claim(CHILD), true)).toEqual(QUEUED);
    expect(slots.lend(A)).toEqual([claim(CHILD)]);
    expect(slots.reclaim(claim(A, 'too early'))).toEqual(QUEUED);
    expect(slots.turnEnded(CHILD)).toEqual([claim(A, 'too early')]);
    expect([slots.used, slots.max]).toEqual([1, 1]);
  });

  test('no more are at work than may, whoever holds a slot', () => {
    const slots = open();
    slots.reserve(claim(A), true);
    slots.reserve(claim(CHILD), true);
    slots.lend(A);
    slots.turnEnded(CHILD);
    slots.reclaim(claim(A));
    expect(slots.reserve(claim(CHILD, 'refused'), false)).toMatchObject({
      error: {
        message: expect.stringContaining(`at work: ${A}; open and idle: ${CHILD}`),
        hint: expect.stringContaining('Wait for one to finish'),
      },
    });
    expect(slots.reclaim(claim(CHILD, 'more'))).toEqual(QUEUED);
    expect(slots.turnEnded(A)).toEqual([claim(CHILD, 'more')]);
  });

  test('what is idle counts against those that are to come, also after it was lent to', () => {
    const slots = open();
    slots.reserve(claim(A), true);
    slots.reserve(claim(CHILD), true);
    slots.lend(A);
    slots.turnEnded(CHILD);
    slots.reclaim(claim(A));
    expect(slots.reserve(claim(OTHER_CHILD), true)).toEqual(QUEUED);
    expect(slots.lend(A)).toEqual([]);
    expect([slots.standsStill, slots.queued]).toEqual([true, [OTHER_CHILD]]);
    expect(slots.closed(CHILD)).toEqual([claim(OTHER_CHILD)]);
  });

  test('an idle agent gives its slot to one below it, and takes input again all the same', () => {
    const slots = open();
    slots.reserve(claim(A), true);
    slots.reserve(claim(B), true);
    slots.reserve(claim(CHILD), true);
    expect(slots.turnEnded(A)).toEqual([claim(CHILD)]);
    expect(slots.reclaim(claim(A, 'input'))).toEqual(QUEUED);
    expect(slots.turnEnded(CHILD)).toEqual([claim(A, 'input')]);
    expect(slots.closed(A)).toEqual([]);
    expect(slots.closed(CHILD)).toEqual([claim(B)]);
  });

  test('those that wait for slots of idle agents are refused once, and ask again when one is free', () => {
    const slots = open();
    slots.reserveSpawn(claim(A), true);
    slots.reserveSpawn(claim(B, 'of its parent'), true);
    slots.reclaim(claim(B, 'of its own'));
    expect(slots.standsStill).toBe(false);
    slots.turnEnded(A);
    expect(slots.standsStill).toBe(true);
    expect(slots.refuseQueue()).toEqual([claim(B, 'of its parent'), claim(B, 'of its own')]);
    expect([slots.standsStill, slots.busy, slots.refuseQueue()]).toEqual([false, false, []]);
    expect(slots.closed(A)).toEqual([]);
    expect(slots.reserve(claim(B), true)).toEqual(GRANTED);
  });

  test('one whose wait was interrupted stands in no line any more', () => {
    const slots = open();
    slots.reserve(claim(A), true);
    slots.reserve(claim(B), true);
    slots.lend(A);
    slots.reclaim(claim(A, 'of the turn that has ended'));
    expect(slots.turnEnded(A)).toEqual([]);
    expect(slots.turnEnded(B)).toEqual([]);
    expect(slots.busy).toBe(false);
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
  'refuse',
  'continue as new',
] as const;
const agents = ['a', 'a/b', 'a/b/c', 'a/d', 'e', 'e/f'].map(agentId);
const histories = fc.array(fc.record({ act: fc.constantFrom(...acts), agent: fc.constantFrom(...agents) }), {
  maxLength: 150,
  size: 'max',
});

/** How an agent stands by what it was told: idle with a slot or, its slot having gone on, without. */
type Stand = 'unborn' | 'outside' | 'waiting' | 'working' | 'lending' | 'idle' | 'given' | 'closed';

/** Plays agents that follow the rules against the ledger, and keeps its own account of who was promised what. */
class Account {
  slots: Slots;
  readonly #limits: SlotLimits;
  readonly #stands = new Map<AgentId, Stand>(agents.map((agent) => [agent, 'unborn']));
  /** Who waits for a slot, in order, under which request. */
  readonly owed: { claim: Claim; goesOn: boolean }[] = [];
  #spawned = 0;
  #requests = 0;

  constructor(limited: SlotLimits) {
    this.#limits = limited;
    this.slots = new Slots(limited);
  }

  play(act: (typeof acts)[number], agent: AgentId): void {
    const request = claim(agent, `r${++this.#requests}`);
    const stand = this.#stands.get(agent);
    switch (act) {
      case 'spawn':
      case 'spawn or queue': {
        if (stand !== 'unborn') return;
        const outcome = this.slots.reserveSpawn(request, act === 'spawn or queue');
        const full = this.#spawned >= this.#limits.max_agents;
        expect(outcome.outcome === 'refused' && outcome.error.code === 'limit_agents').toBe(full);
        if (outcome.outcome === 'refused') return;
        this.#spawned++;
        this.#stands.set(agent, 'outside');
        this.#take(outcome, request);
        return;
      }
      case 'send':
      case 'send or queue':
        if (!this.#isOpen(agent)) return;
        // To one that works, waits or lends nothing changes: it goes on by itself.
        if (stand === 'lending') expect(this.slots.reserve(request, act !== 'send')).toEqual(GRANTED);
        else if (this.#isOwed(agent)) this.slots.reserve(request, act !== 'send');
        else this.#take(this.slots.reserve(request, act !== 'send'), request);
        return;
      case 'start turn':
      case 'reclaim':
        if (!this.#isOpen(agent) || (act === 'reclaim') !== (stand === 'lending')) return;
        this.#take(this.slots.reclaim(request), request);
        return;
      case 'end turn':
        if (stand !== 'working' && stand !== 'lending') return;
        this.#leave(agent, this.#holdOpen ? 'idle' : 'outside', () => this.slots.turnEnded(agent));
        return;
      case 'close':
        if (stand === 'unborn') return;
        this.#leave(agent, 'closed', () => this.slots.closed(agent));
        return;
      case 'crash':
        // Whoever notices says so, and so does whoever ends what is left: more than once, and whatever it was doing.
        if (stand === 'unborn') return;
        this.#leave(agent, 'closed', () => this.slots.closed(agent));
        expect(this.slots.closed(agent)).toEqual([]);
        return;
      case 'resume':
        if (stand !== 'closed') return;
        this.#stands.set(agent, 'outside');
        // It takes a slot again only where open agents hold them, and does nothing with it yet.
        if (!this.#holdOpen) return;
        this.#take(this.slots.reserve(request, true), request);
        if (this.#stands.get(agent) === 'working') {
          this.#leave(agent, 'idle', () => this.slots.turnEnded(agent));
        } else this.play('start turn', agent);
        return;
      case 'cancel spawn':
        if (!this.#isOpen(agent)) return;
        this.#spawned--;
        this.#leave(agent, 'unborn', () => this.slots.cancelSpawn(agent));
        return;
      case 'lend':
        if (stand !== 'working') return;
        this.#stands.set(agent, 'lending');
        this.#grant(this.slots.lend(agent));
        return;
      case 'refuse': {
        if (!this.slots.standsStill) return;
        const refused = this.slots.refuseQueue();
        expect(refused).toEqual(this.owed.map(({ claim }) => claim));
        this.owed.splice(0);
        return;
      }
      case 'continue as new':
        this.slots = new Slots(this.#limits, JSON.parse(JSON.stringify(this.slots.carry)));
        return;
    }
  }

  all(...stands: Stand[]): AgentId[] {
    return agents.filter((agent) => stands.includes(this.#stands.get(agent) ?? 'unborn'));
  }

  get #holdOpen(): boolean {
    return this.#limits.count === 'open';
  }

  #isOpen(agent: AgentId): boolean {
    return !this.all('unborn', 'closed').includes(agent);
  }

  #isOwed(agent: AgentId): boolean {
    return this.owed.some(({ claim }) => claim.agent === agent);
  }

  #take(outcome: SlotOutcome, request: Claim): void {
    const { agent } = request;
    if (outcome.outcome === 'refused') return;
    if (outcome.outcome === 'granted') {
      this.#begin(agent);
      return;
    }
    const goesOn = this.all('lending', 'idle', 'given').includes(agent);
    const last = this.owed.findLastIndex(({ claim }) => claim.agent === agent);
    this.owed.splice(last < 0 ? this.owed.length : last + 1, 0, { claim: request, goesOn });
  }

  /** One that has had no slot takes a free one or, from nobody else, that of an idle agent above it. */
  #begin(agent: AgentId): void {
    const isNew = this.all('outside').includes(agent);
    const idle = this.all('idle').filter((other) => isBelow(agent, other));
    if (isNew && this.all('working', 'idle').length >= this.#limits.max_threads) {
      const nearest = idle.at(-1);
      expect(nearest).toBeDefined();
      this.#stands.set(nearest as AgentId, 'given');
    }
    this.#stands.set(agent, 'working');
    this.#forget(agent);
    if (isNew) {
      const { length } = this.all('working', 'idle');
      expect(length).toBeLessThanOrEqual(this.#limits.max_threads);
    }
  }

  #leave(agent: AgentId, to: Stand, tell: () => Claim[]): void {
    this.#stands.set(agent, to);
    this.#forget(agent);
    this.#grant(tell());
  }

  #forget(agent: AgentId): void {
    for (let at = this.owed.length - 1; at >= 0; at--) {
      if (this.owed[at]?.claim.agent === agent) this.owed.splice(at, 1);
    }
  }

  /** Those that go on come first, then the queue in its order, but for what only some of it may have. */
  #grant(granted: Claim[]): void {
    for (const agent of new Set(granted.map((claim) => claim.agent))) {
      const first = this.owed.find(({ goesOn }) => goesOn) ?? this.owed[0];
      if (first?.claim.agent !== agent) {
        expect(first?.goesOn).toBe(false);
        expect(this.all('idle').some((above) => isBelow(agent, above))).toBe(true);
      }
      const claims = this.owed.filter(({ claim }) => claim.agent === agent).map(({ claim }) => claim);
      // Every request of one agent is answered together.
      expect(granted.filter((claim) => claim.agent === agent)).toEqual(claims);
      expect(claims).not.toEqual([]);
      this.#begin(agent);
    }
  }

  check(): void {
    const most = this.#limits.max_threads;
    const working = this.all('working');
    const held = working.length + this.all('idle').length;
    expect(working.length).toBeLessThanOrEqual(most);
    expect(this.slots.used).toBe(Math.min(held, most));
    expect([...this.slots.holders].sort()).toEqual([...working, ...this.all('idle')].sort());
    if (this.owed.some(({ goesOn }) => goesOn)) expect(working).toHaveLength(most);
    if (this.owed.some(({ goesOn }) => !goesOn)) expect(held).toBeGreaterThanOrEqual(most);
    expect(this.slots.busy).toBe(working.length + this.all('lending').length + this.owed.length > 0);
    for (const { claim } of this.owed) expect(working).not.toContain(claim.agent);
  }
}

const count = fc.constantFrom('running' as const, 'open' as const);
const threads = fc.integer({ min: 1, max: 3 });

test('for any order of events no more agents work than may, and whoever waits is granted a slot in the end', () => {
  fc.assert(
    fc.property(
      histories,
      threads,
      fc.integer({ min: 1, max: 8 }),
      count,
      (history, max_threads, max_agents, count) => {
        const account = new Account(limits({ max_threads, max_agents, count }));
        const play = (act: (typeof acts)[number], agent: AgentId) => {
          account.play(act, agent);
          account.check();
        };
        for (const { act, agent } of history) play(act, agent);
        for (const agent of account.all('lending')) play('reclaim', agent);
        for (let working = account.all('working'); working.length > 0; working = account.all('working')) {
          play('end turn', working[0] as AgentId);
        }
        // What is left waits for idle agents: closing those gives it all their slots.
        expect(account.slots.standsStill).toBe(account.owed.length > 0);
        expect(account.owed.length > 0 && count === 'running').toBe(false);
        for (;;) {
          const [next] = account.all('working', 'idle', 'given');
          if (next === undefined) break;
          play('close', next);
        }
        expect(account.owed).toEqual([]);
        expect([account.slots.used, account.slots.busy]).toEqual([0, false]);
      },
    ),
    { numRuns: 200 },
  );
});

test('for any order of events those that wait for idle agents may be refused, and then nobody waits', () => {
  fc.assert(
    fc.property(histories, threads, (history, max_threads) => {
      const account = new Account(limits({ max_threads, count: 'open' }));
      for (const { act, agent } of history) account.play(act, agent);
      for (const agent of account.all('lending')) account.play('reclaim', agent);
      for (const agent of agents) {
        // A turn that has ended may have begun another one's.
        for (const working of account.all('working')) account.play('end turn', working);
        account.play('refuse', agent);
        account.check();
      }
      expect([account.owed, account.slots.busy]).toEqual([[], false]);
    }),
    { numRuns: 200 },
  );
});
