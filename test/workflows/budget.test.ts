import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentId } from '../../protocol/index.ts';
import { Budget } from '../../workflows/budget.ts';
import { agentId } from './agent-views.ts';

const [A, B] = ['a', 'b'].map(agentId) as [AgentId, AgentId];
const ask = (budget: Budget, from: AgentId, spent: number) =>
  budget.answer({ request_id: `${from}#r1`, from, spent });

test('a tenth stays for last reports, and beyond the limit nothing is left', () => {
  const budget = new Budget(1_000);
  expect(ask(budget, A, 0)).toEqual({ request_id: `${A}#r1`, outcome: 'go', used: 0, limit: 1_000 });
  expect(ask(budget, A, 899).outcome).toBe('go');
  expect(ask(budget, A, 900).outcome).toBe('last');
  expect(ask(budget, B, 100).outcome).toBe('stop');
});

test('a large budget is leased in parts, so that an agent need not ask each time', () => {
  const budget = new Budget(1_000_000);
  const { until = 0 } = ask(budget, A, 10_000);
  expect(until).toBeGreaterThan(30_000);
  expect(until).toBeLessThan(50_000);
});

test('a lease is given back with the report that ends a turn', () => {
  const budget = new Budget(1_000_000);
  const { until: first = 0 } = ask(budget, A, 0);
  const { until: less = 0 } = ask(budget, B, 0);
  expect(less).toBeLessThan(first);
  budget.report(A, 0, true);
  expect(ask(budget, B, 0).until).toBe(first);
});

test('for any order of asking, spending, ending and continuing, nobody passes the reserve without asking', () => {
  const agents = ['a', 'b', 'c', 'd'].map(agentId);
  const step = fc.record({
    agent: fc.constantFrom(...agents),
    tokens: fc.integer({ min: 1, max: 60_000 }),
    ends: fc.boolean(),
    continues: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 200 }),
      fc.integer({ min: 100_000, max: 2_000_000 }),
      (steps, limit) => {
        let budget = new Budget(limit);
        const spent = new Map(agents.map((agent) => [agent, 0]));
        const until = new Map(agents.map((agent) => [agent, 0]));
        const total = () => [...spent.values()].reduce((sum, tokens) => sum + tokens, 0);
        for (const { agent, tokens, ends, continues } of steps) {
          if (continues) budget = new Budget(limit, budget.carry);
          const before = spent.get(agent) ?? 0;
          const leased = until.get(agent) ?? 0;
          if (before < leased) {
            // Within a lease no more is spent than it holds, whatever the size of the last call.
            spent.set(agent, Math.min(leased, before + tokens));
            expect(total()).toBeLessThanOrEqual(limit * 0.9);
          } else {
            const answer = ask(budget, agent, before);
            until.set(agent, answer.until ?? 0);
            expect(answer.used).toBeLessThanOrEqual(total());
          }
          if (ends) {
            budget.report(agent, spent.get(agent) ?? 0, true);
            until.set(agent, 0);
          }
        }
      },
    ),
  );
});
