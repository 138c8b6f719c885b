import type { BudgetAnswer, BudgetRefusal, BudgetRequest } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';

/**
 * Asks whether there are tokens left for a model call, of the session's budget and of the shares that this agent's
 * work counts against.
 *
 * @returns the limit that is reached; undefined when there are tokens left, or no limit
 */
export async function askBudget(agent: AgentState): Promise<BudgetRefusal | undefined> {
  if (agent.settings.limits.max_tokens === undefined) return undefined;
  const spent = agent.standing.usage.total_tokens;
  // Within the lease of the root nobody is asked.
  if (spent < agent.tokensLeased) return undefined;
  const answer = await askRoot(agent, {
    request_id: agent.nextId('requests'),
    from: agent.id,
    spent,
    // Unless it was compacted a conversation only grows: the next call takes what the last one took, or more.
    expected: agent.standing.lastCall,
    ...(agent.standing.takeShrunk(Date.now()) ? { shrunk: true } : {}),
  });
  agent.tokensLeased = (answer?.outcome === 'go' ? answer.until : undefined) ?? 0;
  return answer === undefined || answer.outcome === 'go' ? undefined : answer;
}

async function askRoot(agent: AgentState, request: BudgetRequest): Promise<BudgetAnswer | undefined> {
  if (agent.tree !== undefined) return agent.tree.budget.answer(request);
  return agent.askRoot({ type: 'budget', request }, agent.budgetAnswers, request.request_id);
}
