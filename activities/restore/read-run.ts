import type { Client } from '@temporalio/client';
import {
  CadreError,
  type ItemsAnswer,
  type ItemsPage,
  type ItemsRequest,
  LARGE_PAGE_BYTES,
  QUERIES,
  type SnapshotAnswer,
  type SnapshotPage,
  type SnapshotRequest,
} from '../../protocol/index.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import { toFailure } from '../model/model-error.ts';
import { queryRun } from '../query-run.ts';
import { orFromRollout } from './past-in-rollout.ts';

/**
 * The `read_snapshot` activity: an agent's state, and how long its conversation was when the state was taken, so that
 * the two belong together also when the run is open.
 */
export function createReadSnapshot(
  client: Client,
  rollouts?: Rollouts,
): (request: SnapshotRequest) => Promise<SnapshotAnswer> {
  return (run) =>
    asFailure(async () => {
      const range = { from: 0, to: 0 };
      const asked = queryRun<SnapshotPage>(client, run, QUERIES.snapshot, range);
      return orFromRollout<SnapshotAnswer>(
        rollouts,
        run,
        asked.then(({ state, page }) => ({ state, total: page.total })),
        async (_, { state, items }) => ({ state, total: items }),
      );
    });
}

/** The `read_items` activity: as much of an agent's conversation as one answer holds. */
export function createReadItems(
  client: Client,
  rollouts?: Rollouts,
): (request: ItemsRequest) => Promise<ItemsAnswer> {
  return ({ from, to, ...run }) =>
    asFailure(async () => {
      const range = { from, to, bytes: LARGE_PAGE_BYTES };
      const items = await orFromRollout(
        rollouts,
        run,
        queryRun<ItemsPage>(client, run, QUERIES.items, range).then((page) => page.items),
        (rollout) => rollout.items(run.agent_id, from, to, LARGE_PAGE_BYTES),
      );
      if (items.length === 0) throw incomplete(run, from, to);
      return { items };
    });
}

/** Half a conversation is none. */
function incomplete({ agent_id, run_id }: SnapshotRequest, held: number, expected: number): CadreError {
  const message = `The run ${run_id} of ${agent_id} gave ${held} items of ${expected}.`;
  return new CadreError('internal', message, { retryable: true });
}

async function asFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error, 1);
  }
}
