import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentId } from '../../protocol/index.ts';
import { Budget } from '../../workflows/budget.ts';
import { agentId, SESSION } from './agent-views.ts';

const [A, BELOW_A, DEEP, B] = ['a', 'a/b', 'a/b/c', 'b'].map(agentId) as [AgentId, AgentId, AgentId, AgentId];

function budgetOf(limits: [AgentId, number][]): Budget {
  const budget = new Budget();
  for (const [agent, limit] of limits) budget.bound(agent, limit);
  return budget;
}
const carried = (budget: Budget): Budget => new Budget(JSON.parse(JSON.stringify(budget.carry)));
const ask = (budget: Budget, from: AgentId, spent: number) =>
  budget.answer({ request_id: `${from}#r1`, from, spent });
const leaseOf = (budget: Budget, from: AgentId, spent: number): number => {
  const answer = budget.answer({ request_id: 'r', from, spent, expected: 1 });
  return answer.outcome === 'go' ? (answer.until ?? 0) : 0;
};

test('a tenth stays for last reports, and beyond the limit nothing is left', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(ask(budget, A, 0)).toEqual({ request_id: `${A}#r1`, outcome: 'go' });
  expect(ask(budget, A, 899).outcome).toBe('go');
  expect(ask(budget, A, 900)).toMatchObject({ outcome: 'last', holder: SESSION, used: 900, limit: 1_000 });
  expect(ask(budget, B, 100).outcome).toBe('stop');
});

const foreseen = (budget: Budget, from: AgentId, spent: number, expected: number) =>
  budget.answer({ request_id: 'r', from, spent, expected }).outcome;

test('a step is taken where it and a last report as large fit, beside what is kept for the one above', () => {
  const root = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(root, SESSION, 500, 250)).toBe('go');
  expect(foreseen(root, SESSION, 501, 250)).toBe('last');
  const below = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(below, A, 450, 250)).toBe('go');
  expect(foreseen(below, A, 451, 250)).toBe('last');
});

test('the largest step so far stands for the next, whatever the last one took', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(budget, SESSION, 300, 300)).toBe('go');
  expect(foreseen(carried(budget), SESSION, 410, 10)).toBe('last');
});

test('after a conversation was compacted, what is foreseen of a step goes before what earlier ones took', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(budget, SESSION, 0, 400)).toBe('go');
  expect(foreseen(carried(budget), SESSION, 500, 50)).toBe('last');
  const shrunk = budget.answer({ request_id: 'r', from: SESSION, spent: 500, expected: 50, shrunk: true });
  expect(shrunk.outcome).toBe('go');
  expect(foreseen(budget, SESSION, 550, 60)).toBe('go');
});

test('a root with steps of 500 and a limit of 1,100 is asked for its report after one of them', () => {
  const budget = budgetOf([[SESSION, 1_100]]);
  expect(foreseen(budget, SESSION, 0, 0)).toBe('go');
  expect(foreseen(budget, SESSION, 500, 500)).toBe('last');
});

test('steps that are under way count, and so do the reports of those that take them', () => {
  const budget = budgetOf([[SESSION, 10_000]]);
  expect(foreseen(budget, A, 2_000, 2_000)).toBe('go');
  // 2,000 are spent, 2,000 under way and 2,000 kept for the report of A, 500 for that of the root.
  expect(foreseen(budget, B, 0, 1_750)).toBe('go');
  expect(foreseen(budget, B, 1, 1_750)).toBe('last');
  budget.report(A, 2_000, true);
  expect(foreseen(budget, B, 1, 1_750)).toBe('go');
});

test('an agent that waits holds no lease, but what its last report takes', () => {
  const budget = budgetOf([[SESSION, 1_000_000]]);
  budget.answer({ request_id: 'r', from: A, spent: 1_000, expected: 1_000 });
  const leases = () => new Map(budget.carry.leases).get(A);
  expect(leases()).toBeGreaterThan(20_000);
  budget.pause(A);
  expect(leases()).toBe(1_000);
  budget.pause(B);
  expect(budget.carry.leases).toHaveLength(1);
});

test('a report that does not fit is not asked for, and one that about fits is', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(budget, A, 600, 600)).toBe('last');
  expect(foreseen(budget, B, 0, 400)).toBe('stop');
});

test('the root is asked for its report once, whatever those below it have used', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(budget, SESSION, 50, 50)).toBe('go');
  budget.report(A, 7_000, true);
  expect(foreseen(budget, B, 0, 0)).toBe('stop');
  expect(foreseen(budget, SESSION, 100, 50)).toBe('last');
  // The call has failed.
  expect(foreseen(carried(budget), SESSION, 100, 50)).toBe('last');
  expect(foreseen(carried(budget), SESSION, 150, 50)).toBe('stop');
});

test('a root that has used up the limit by itself is asked for nothing', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(foreseen(budget, SESSION, 1_000, 1_000)).toBe('stop');
});

test('a root with small steps gets its report though two children with large ones use all they may', () => {
  const budget = budgetOf([[SESSION, 4_000]]);
  const spent = new Map([SESSION, A, B].map((agent) => [agent, 0]));
  const take = (agent: AgentId, size: number) => {
    const before = spent.get(agent) ?? 0;
    const outcome = foreseen(budget, agent, before, before === 0 ? 0 : size);
    if (outcome !== 'stop') spent.set(agent, before + size);
    if (outcome !== 'go') budget.report(agent, spent.get(agent) ?? 0, true);
    return outcome;
  };
  const used = () => [...spent.values()].reduce((sum, tokens) => sum + tokens, 0);
  take(SESSION, 100);
  budget.pause(SESSION);
  const ends = new Map<AgentId, string>();
  for (let round = 0; ends.size < 2 && round < 20; round++) {
    for (const child of [A, B].filter((agent) => !ends.has(agent))) {
      const outcome = take(child, 500);
      if (outcome !== 'go') ends.set(child, outcome);
    }
  }
  expect([...ends.values()]).toEqual(['last', 'last']);
  expect(used()).toBeGreaterThan(2_800);
  while (take(SESSION, 100) === 'go');
  expect(used()).toBeGreaterThan(3_600);
  expect(used()).toBeLessThanOrEqual(4_000);
});

test('a large budget is leased in parts, so that an agent need not ask each time', () => {
  const budget = budgetOf([[SESSION, 1_000_000]]);
  const until = leaseOf(budget, A, 10_000);
  expect(until).toBeGreaterThan(30_000);
  expect(until).toBeLessThan(50_000);
});

test('a lease is given back with the report that ends a turn', () => {
  const budget = budgetOf([[SESSION, 1_000_000]]);
  const first = leaseOf(budget, A, 0);
  expect(leaseOf(budget, B, 0)).toBeLessThan(first);
  budget.report(A, 0, true);
  expect(leaseOf(budget, B, 0)).toBe(first);
});

test('the lease of a lost agent counts as spent, until it comes back and says what it has spent', () => {
  let budget = budgetOf([[SESSION, 1_000_000]]);
  const until = leaseOf(budget, A, 10_000);
  budget.report(A, 20_000, false);
  budget.lost(A);
  budget.lost(A);
  const spentBy = (agent: AgentId) => new Map(budget.carry.spent).get(agent);
  expect(spentBy(A)).toBe(until + 1);
  budget = new Budget(JSON.parse(JSON.stringify(budget.carry)));
  budget.report(A, 25_000, false);
  expect(spentBy(A)).toBe(25_000);
  budget.report(A, 24_000, false);
  expect(spentBy(A)).toBe(25_000);
});

test('a share bounds its holder with all below it, and nobody else', () => {
  const budget = budgetOf([
    [SESSION, 10_000],
    [A, 1_000],
  ]);
  expect(ask(budget, DEEP, 600).outcome).toBe('go');
  budget.report(BELOW_A, 250, false);
  expect(ask(budget, A, 50)).toMatchObject({ outcome: 'last', holder: A, used: 900, limit: 1_000 });
  expect(ask(budget, DEEP, 700)).toMatchObject({ outcome: 'stop', holder: A, used: 1_000, limit: 1_000 });
  expect(ask(budget, B, 5_000).outcome).toBe('go');
  expect(ask(budget, SESSION, 0).outcome).toBe('go');
});

test('a share holds in a session that has no limit itself', () => {
  const budget = budgetOf([[A, 1_000]]);
  expect(ask(budget, SESSION, 1_000_000)).toEqual({ request_id: `${SESSION}#r1`, outcome: 'go' });
  expect(ask(budget, BELOW_A, 1_000)).toMatchObject({ outcome: 'stop', holder: A });
  expect(budget.carry.spent).toEqual([[BELOW_A, 1_000]]);
});

test('a share widens nothing: what is not tighter than the limits above counts as those', () => {
  const budget = budgetOf([
    [A, 1_000],
    [BELOW_A, 1_000],
    [DEEP, 5_000],
  ]);
  expect(ask(budget, DEEP, 1_000)).toMatchObject({ outcome: 'stop', holder: A, limit: 1_000 });
  expect(budget.carry.limits).toEqual([[A, 1_000]]);
});

test('an agent that has not come into being leaves no share behind', () => {
  const budget = budgetOf([[A, 1_000]]);
  budget.forget(A);
  expect(ask(budget, BELOW_A, 2_000).outcome).toBe('go');
});

/** A tree of three levels with shares anywhere in it, and what its agents do. */
const paths = ['', 'a', 'b', 'a/a', 'a/b', 'b/a', 'a/a/a', 'a/a/b'];
const agents = paths.map(agentId);
const limitsOf = fc.array(fc.option(fc.integer({ min: 20_000, max: 2_000_000 }), { nil: undefined }), {
  minLength: agents.length,
  maxLength: agents.length,
});
const step = fc.record({
  agent: fc.constantFrom(...agents),
  tokens: fc.integer({ min: 1, max: 60_000 }),
  ends: fc.boolean(),
  dies: fc.boolean(),
  continues: fc.boolean(),
});
const within = (holder: AgentId) => agents.filter((id) => id === holder || id.startsWith(`${holder}/`));

test('for any order of asking, spending, ending, dying and continuing, nobody passes a reserve without asking', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), limitsOf, (steps, limits) => {
      const bounds = agents.map((agent, index) => [agent, limits[index]] as const);
      let budget = budgetOf(
        bounds.flatMap(([agent, limit]) => (limit === undefined ? [] : [[agent, limit]])),
      );
      const spent = new Map(agents.map((agent) => [agent, 0]));
      const until = new Map(agents.map((agent) => [agent, 0]));
      const below = (holder: AgentId) => within(holder).reduce((sum, id) => sum + (spent.get(id) ?? 0), 0);
      for (const { agent, tokens, ends, dies, continues } of steps) {
        if (continues) budget = new Budget(JSON.parse(JSON.stringify(budget.carry)));
        const before = spent.get(agent) ?? 0;
        const leased = until.get(agent) ?? 0;
        if (before < leased) {
          // Within a lease no more is spent than it holds, whatever the size of the last call.
          spent.set(agent, Math.min(leased, before + tokens));
          for (const [holder, limit] of bounds) {
            if (limit !== undefined) expect(below(holder)).toBeLessThanOrEqual(limit * 0.9);
          }
        } else {
          until.set(agent, leaseOf(budget, agent, before));
        }
        if (dies) {
          // What it has spent since it last said so, it says only when it is back.
          budget.lost(agent);
          until.set(agent, 0);
        } else if (ends) {
          budget.report(agent, spent.get(agent) ?? 0, true);
          until.set(agent, 0);
        }
        const counted = new Map([...budget.carry.spent, ...budget.carry.leases]);
        expect(counted.get(agent) ?? 0).toBeGreaterThanOrEqual(spent.get(agent) ?? 0);
      }
    }),
  );
});

test('for any tree of shares an answer is the strictest of those above, counted to the token', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), limitsOf, (steps, limits) => {
      const bounds = agents.map((agent, index) => [agent, limits[index]] as const);
      let budget = budgetOf(
        bounds.flatMap(([agent, limit]) => (limit === undefined ? [] : [[agent, limit]])),
      );
      const spent = new Map<AgentId, number>();
      for (const { agent, tokens, continues } of steps) {
        if (continues) budget = carried(budget);
        spent.set(agent, (spent.get(agent) ?? 0) + tokens);
        const held = new Map(budget.carry.leases);
        const answer = ask(budget, agent, spent.get(agent) ?? 0);
        const outcomes = bounds.flatMap(([holder, limit]) => {
          if (limit === undefined || !within(holder).includes(agent)) return [];
          const inside = within(holder);
          const used = inside.reduce((sum, id) => sum + (spent.get(id) ?? 0), 0);
          const others = inside.filter((id) => id !== agent);
          const underWay = others.reduce(
            (sum, id) => sum + Math.max(0, (held.get(id) ?? 0) - (spent.get(id) ?? 0)),
            0,
          );
          if (used + underWay < limit * 0.9) return [0];
          // Half of the tenth is kept for the report of whoever the limit is for.
          if (agent !== holder) return [used + underWay < limit * 0.95 ? 1 : 2];
          return [used < limit || (spent.get(agent) ?? 0) <= limit ? 1 : 2];
        });
        // Whose report is owed is asked for it once.
        const worst = Math.max(0, ...outcomes);
        expect(['go', 'last', 'stop'].indexOf(answer.outcome)).toBeGreaterThanOrEqual(worst);
        if (answer.outcome !== 'stop') expect(answer.outcome).toBe(['go', 'last'][worst]);
        if (answer.outcome === 'go') continue;
        const used = within(answer.holder).reduce((sum, id) => sum + (spent.get(id) ?? 0), 0);
        expect({ used: answer.used, within: within(answer.holder).includes(agent) }).toEqual({
          used,
          within: true,
        });
        if (answer.outcome === 'stop' && worst < 2) {
          expect(new Map(budget.carry.told).get(answer.holder)).toBeLessThan(spent.get(agent) ?? 0);
        }
      }
    }),
  );
});

/** Steps of agents under one limit, side by side: each is asked for, and comes to its end some time later. */
const below = agents.slice(1);
const moves = fc.array(
  fc.record({ agent: fc.constantFrom(...agents), part: fc.double({ min: 0.01, max: 1, noNaN: true }) }),
  { minLength: 20, maxLength: 300, size: 'max' },
);

/** Agents that work until they are told to stop, and what they use. */
class Workers {
  budget: Budget;
  readonly spent = new Map(agents.map((agent) => [agent, 0]));
  readonly outcomes = new Map<AgentId, string>();
  readonly #last = new Map<AgentId, number>();
  readonly #until = new Map<AgentId, number>();
  readonly #underWay = new Set<AgentId>();

  constructor(limit: number) {
    this.budget = budgetOf([[SESSION, limit]]);
  }

  get used(): number {
    return [...this.spent.values()].reduce((sum, tokens) => sum + tokens, 0);
  }

  /** Ends the step that is under way, or asks for the next. */
  move(agent: AgentId, size: number): void {
    if (this.outcomes.has(agent) && !this.#underWay.has(agent)) return;
    const before = this.spent.get(agent) ?? 0;
    if (this.#underWay.delete(agent)) {
      this.spent.set(agent, before + size);
      this.#last.set(agent, size);
      if (this.outcomes.has(agent)) this.budget.report(agent, before + size, true);
      return;
    }
    if (before >= (this.#until.get(agent) ?? 0)) {
      const expected = this.#last.get(agent) ?? 0;
      this.budget = carried(this.budget);
      const answer = this.budget.answer({ request_id: 'r', from: agent, spent: before, expected });
      this.#until.set(agent, (answer.outcome === 'go' && answer.until) || 0);
      if (answer.outcome !== 'go') this.outcomes.set(agent, answer.outcome);
      if (answer.outcome === 'stop') {
        this.budget.report(agent, before, true);
        return;
      }
    }
    this.#underWay.add(agent);
  }
}

test('for any order and any size of the steps below it the root gets its report, where its own are not larger than its part', () => {
  fc.assert(
    fc.property(moves, fc.integer({ min: 1_000, max: 1_000_000 }), (moves, limit) => {
      const workers = new Workers(limit);
      for (const { agent, part } of moves) {
        workers.move(agent, Math.ceil(agent === SESSION ? (part * limit) / 21 : (part * limit) / 2));
      }
      for (let round = 0; round < 500 && !workers.outcomes.has(SESSION); round++) {
        workers.move(SESSION, Math.ceil(limit / 21));
      }
      expect(workers.outcomes.get(SESSION)).toBe('last');
    }),
  );
});

test('for any order agents that work side by side do not pass the limit together, and each gets its report, once they have told of their steps', () => {
  fc.assert(
    fc.property(moves, fc.integer({ min: 1_000, max: 1_000_000 }), (moves, limit) => {
      const workers = new Workers(limit);
      const size = Math.floor(limit / 40);
      // What the first steps take, nobody knows before.
      for (const agent of agents) for (let move = 0; move < 3; move++) workers.move(agent, size);
      // The root waits for the others: it would go before their reports.
      workers.move(SESSION, size);
      workers.budget.pause(SESSION, workers.spent.get(SESSION));
      for (const { agent, part } of moves) if (agent !== SESSION) workers.move(agent, Math.ceil(part * size));
      for (let round = 0; round < 200; round++) for (const agent of below) workers.move(agent, size);
      for (let round = 0; round < 200; round++) workers.move(SESSION, size);
      expect(agents.map((agent) => workers.outcomes.get(agent))).toEqual(agents.map(() => 'last'));
      expect(workers.used).toBeLessThanOrEqual(limit);
      expect(workers.used).toBeGreaterThan(limit * 0.8);
    }),
    { endOnFailure: true },
  );
});
