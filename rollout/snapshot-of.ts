import type { AgentIdentity, RolloutAgent, SessionSettings, SnapshotPage } from '../protocol/index.ts';

/**
 * An agent of a rollout as its `snapshot` would show it, without items.
 *
 * @param known the search attributes that the namespace knows: another one would fail the agent for ever
 */
export function snapshotOf(agent: RolloutAgent, known: readonly string[]): SnapshotPage {
  const { type: _, run_id: _run, items: total, session, ...snapshot } = agent;
  const identity: AgentIdentity = { ...(agent.identity as AgentIdentity), search_attributes: [...known] };
  return {
    ...snapshot,
    identity,
    ...(session === undefined
      ? {}
      : { session: { ...session, search_attributes: [...known] } as SessionSettings }),
    page: { items: [], from: 0, total, compacted: 0 },
  } as SnapshotPage;
}
