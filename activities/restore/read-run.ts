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
import { toFailure } from '../model/model-error.ts';
import { queryRun } from '../query-run.ts';

/**
 * The `read_snapshot` activity: an agent's state, and how long its conversation was when the state was taken, so that
 * the two belong together also when the run is open.
 */
export function createReadSnapshot(client: Client): (request: SnapshotRequest) => Promise<SnapshotAnswer> {
  return (run) =>
    asFailure(async () => {
      const range = { from: 0, to: 0 };
      const { state, page } = await queryRun<SnapshotPage>(client, run, QUERIES.snapshot, range);
      return { state, total: page.total };
    });
}

/** The `read_items` activity: as much of an agent's conversation as one answer holds. */
export function createReadItems(client: Client): (request: ItemsRequest) => Promise<ItemsAnswer> {
  return ({ from, to, ...run }) =>
    asFailure(async () => {
      const range = { from, to, bytes: LARGE_PAGE_BYTES };
      const { items } = await queryRun<ItemsPage>(client, run, QUERIES.items, range);
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
