import type { AgentId, Status, ToldEnd } from '../protocol/index.ts';
import { formatAnnouncement, isFinal } from '../protocol/status.ts';
import type { AgentState } from './agent-state.ts';
import type { Known } from './known.ts';

/** How a turn of a child has ended becomes a notice for the model. */
export function announce(agent: AgentState, child: Known, ended: ToldEnd): void {
  const { id, role, callId } = child;
  const { turn, status, message, duration_ms: durationMs, along } = ended;
  const text = formatAnnouncement({ role, agentId: id, callId, status, durationMs, message });
  agent.inbox.announce({ child: id, turn, status, text, ...(along === true ? { quiet: true } : {}) });
}

/** How another agent stands, in this one's events. */
export function emitStatus(agent: AgentState, id: AgentId, status: Status, text = ''): void {
  agent.emit({ type: 'agent.status', receiver_id: id, status, is_final: isFinal(status), text });
}
