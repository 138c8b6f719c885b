import { SIGNALS } from '../../protocol/messages.ts';
import type { AgentState } from '../agent-state.ts';

/** Stops the running turn, and by default those of all agents below; an idle agent only passes it on. */
export function interruptTurn(agent: AgentState, reason: string): void {
  // Nobody below knows yet of a turn that a limit is stopping.
  if (agent.running?.stopReason !== undefined && agent.running.limit === undefined) return;
  if (agent.settings.limits.interrupt_descendants) interruptChildren(agent, reason);
  agent.running?.stop(reason);
}

function interruptChildren(agent: AgentState, reason: string): void {
  for (const child of agent.children.open) {
    const payload = { reason: `${agent.id} was interrupted: ${reason}` };
    // One that is gone has nothing to interrupt.
    agent.outbox.send(child.id, SIGNALS.interrupt, payload).catch(() => {});
  }
}
