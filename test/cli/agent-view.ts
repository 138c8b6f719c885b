import { type AgentId, type AgentView, depthOf, noUsage, parentOf, sessionOf } from '../../protocol/index.ts';

/** A view of an agent that runs; give what matters to the test. */
export function agentView(id: string, more: Partial<AgentView> = {}): AgentView {
  const agent = id as AgentId;
  const parent = parentOf(agent);
  return {
    agent_id: agent,
    session_id: sessionOf(agent),
    ...(parent === undefined ? {} : { parent_id: parent }),
    status: 'running',
    is_final: false,
    closed: false,
    turn: 1,
    step: 1,
    depth: depthOf(agent),
    role: 'default',
    model: 'm',
    sandbox_mode: 'workspace-write',
    working_directory: '/work',
    source: { kind: 'cli' },
    usage: noUsage,
    children: [],
    status_since: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}
