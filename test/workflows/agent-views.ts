import type { AgentId, AgentView, EndedTurn, Report, SessionId } from '../../protocol/index.ts';
import { isFinal, noUsage, sessionOf } from '../../protocol/index.ts';

export const SESSION = 'a0k3v9x2m4qd7' as SessionId;
export const agentId = (path: string): AgentId => (path === '' ? SESSION : (`${SESSION}/${path}` as AgentId));

/** A view as an agent reports it; what a test does not say is that of an idle worker. */
export function viewOf(id: AgentId, change: Partial<AgentView> = {}): AgentView {
  const status = change.status ?? 'running';
  return {
    agent_id: id,
    session_id: sessionOf(id),
    status,
    is_final: isFinal(status),
    closed: false,
    turn: 1,
    step: 0,
    depth: 1,
    role: 'worker',
    model: 'scripted',
    sandbox_mode: 'workspace-write',
    working_directory: '/tmp',
    source: { kind: 'api' },
    usage: noUsage,
    children: [],
    status_since: '2026-01-01T12:00:00.000Z',
    updated_at: '2026-01-01T12:00:00.000Z',
    ...change,
  };
}

export function reportOf(
  id: AgentId,
  seq: number,
  change: Partial<AgentView> & { taken?: string[]; ended?: EndedTurn } = {},
): Report {
  const { taken = [], ended, ...view } = change;
  return { view: viewOf(id, view), seq, taken, ...(ended === undefined ? {} : { ended }) };
}
