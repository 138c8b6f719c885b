import { CancellationScope, type ChildWorkflowHandle, type Workflow } from '@temporalio/workflow';
import type { AgentId } from '../../protocol/index.ts';
import { formatAnnouncement } from '../../protocol/status.ts';
import { terminateAgents } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { releaseSlot, releaseUnborn } from './slot.ts';

const REASON = 'ended from outside';

/**
 * An agent whose workflow fails, or that somebody terminates, reports nothing any more; the server tells the run that
 * has started it. A run that continues another one does not hear of it.
 */
export function noticeDeath(agent: AgentState, id: AgentId, child: ChildWorkflowHandle<Workflow>): void {
  void CancellationScope.nonCancellable(() => child.result()).catch(() => {
    agent.orders.push({ type: 'death', id });
  });
}

/** Takes an agent for lost that can say nothing any more, and ends what was below it, for nobody else will. */
export async function takeForLost(agent: AgentState, id: AgentId): Promise<void> {
  const known = agent.children.get(id);
  if (known === undefined || known.closed || agent.closing !== undefined) return;
  agent.children.lost(id, 'errored', REASON);
  const { role, callId, turn } = known;
  const said = { role, agentId: id, callId, status: 'errored', durationMs: 0, message: REASON } as const;
  agent.inbox.announce({ child: id, turn, status: 'errored', text: formatAnnouncement(said) });
  agent.emit({ type: 'agent.status', receiver_id: id, status: 'errored', is_final: true, text: REASON });
  releaseSlot(agent, id, true);
  agent.onChange();
  const { terminated } = await terminateAgents({
    agent_id: id,
    reason: `the agent above was lost: ${REASON}`,
  });
  for (const below of terminated) releaseSlot(agent, below, true);
  releaseUnborn(agent, id);
}
