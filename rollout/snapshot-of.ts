import type { RolloutAgent, SnapshotPage } from '../protocol/index.ts';

/** An agent of a rollout as its `snapshot` would show it, without items: also with the search attributes of then. */
export function snapshotOf(agent: RolloutAgent): SnapshotPage {
  const { type: _, run_id: _run, items: total, ...snapshot } = agent;
  return {
    ...snapshot,
    page: { items: [], from: 0, total, compacted: 0 },
  } as SnapshotPage;
}
