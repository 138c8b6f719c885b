import type { BudgetAnswer, BudgetRequest } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { budgetOutcome } from '../budget.ts';

/** Asks what is left of the tokens, if there is a limit: of this agent's own share, and of the session's budget. */
export async function askBudget(agent: AgentState): Promise<BudgetAnswer | undefined> {
  const { max_tokens: share } = agent.settings.limits;
  if (share === undefined) return undefined;
  const spent = agent.standing.usage.total_tokens;
  const request: BudgetRequest = { request_id: agent.nextId('requests'), from: agent.id, spent };
  const own: BudgetAnswer = {
    request_id: request.request_id,
    outcome: budgetOutcome(spent, share),
    used: spent,
    limit: share,
  };
  // Within the lease of the root nobody is asked.
  if (own.outcome === 'go' && spent < agent.tokensLeased) return own;
  const ofSession = await askRoot(agent, request);
  agent.tokensLeased = ofSession?.until ?? 0;
  return ofSession === undefined || own.outcome === 'stop' ? own : stricter(own, ofSession);
}

async function askRoot(agent: AgentState, request: BudgetRequest): Promise<BudgetAnswer | undefined> {
  if (agent.isRoot) return agent.tree?.budget?.answer(request);
  return agent.askRoot({ type: 'budget', request }, agent.budgetAnswers, request.request_id);
}

function stricter(own: BudgetAnswer, ofSession: BudgetAnswer): BudgetAnswer {
  return own.outcome === 'last' && ofSession.outcome === 'go' ? own : ofSession;
}
