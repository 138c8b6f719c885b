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
const ask = (budget: Budget, from: AgentId, spent: number) =>
  budget.answer({ request_id: `${from}#r1`, from, spent });
const leaseOf = (budget: Budget, from: AgentId, spent: number): number => {
  const answer = ask(budget, from, spent);
  return answer.outcome === 'go' ? (answer.until ?? 0) : 0;
};

test('a tenth stays for last reports, and beyond the limit nothing is left', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  expect(ask(budget, A, 0)).toEqual({ request_id: `${A}#r1`, outcome: 'go' });
  expect(ask(budget, A, 899).outcome).toBe('go');
  expect(ask(budget, A, 900)).toMatchObject({ outcome: 'last', holder: SESSION, used: 900, limit: 1_000 });
  expect(ask(budget, B, 100).outcome).toBe('stop');
});

test('a step that would leave nothing for a last report is not taken', () => {
  const budget = budgetOf([[SESSION, 1_000]]);
  const answer = (spent: number, expected: number) =>
    budget.answer({ request_id: 'r', from: A, spent, expected }).outcome;
  expect(answer(0, 999)).toBe('go');
  expect(answer(500, 499)).toBe('go');
  expect(answer(500, 500)).toBe('last');
  expect(answer(1_000, 0)).toBe('stop');
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
  expect(spentBy(A)).toBe(until);
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
        if (continues) budget = new Budget(JSON.parse(JSON.stringify(budget.carry)));
        spent.set(agent, (spent.get(agent) ?? 0) + tokens);
        const answer = ask(budget, agent, spent.get(agent) ?? 0);
        const outcomes = bounds.flatMap(([holder, limit]) => {
          if (limit === undefined || !within(holder).includes(agent)) return [];
          const used = within(holder).reduce((sum, id) => sum + (spent.get(id) ?? 0), 0);
          return [used >= limit ? 2 : used >= limit * 0.9 ? 1 : 0];
        });
        expect(answer.outcome).toBe(['go', 'last', 'stop'][Math.max(0, ...outcomes)]);
        if (answer.outcome === 'go') continue;
        const used = within(answer.holder).reduce((sum, id) => sum + (spent.get(id) ?? 0), 0);
        expect({ used: answer.used, within: within(answer.holder).includes(agent) }).toEqual({
          used,
          within: true,
        });
      }
    }),
  );
});
