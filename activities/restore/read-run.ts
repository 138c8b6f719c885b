import type { Client } from '@temporalio/client';
import {
  CadreError,
  type Item,
  type ItemsAnswer,
  type ItemsPage,
  type ItemsRequest,
  QUERIES,
  type SnapshotAnswer,
  type SnapshotPage,
  type SnapshotRequest,
} from '../../protocol/index.ts';
import { toFailure } from '../model/model-error.ts';
import { readPages } from '../model/read-conversation.ts';
import { queryRun } from '../query-run.ts';

/**
 * The `read_snapshot` activity: an agent's state, and the conversation as long as it was when the state was taken, so
 * that the two belong together also when the run is open.
 */
export function createReadSnapshot(client: Client): (request: SnapshotRequest) => Promise<SnapshotAnswer> {
  return (run) =>
    asFailure(async () => {
      const ask = (range: { from: number; to?: number }) =>
        queryRun<SnapshotPage>(client, run, QUERIES.snapshot, range);
      const { state, page } = await ask({ from: 0 });
      const rest = await readPages(async (range) => (await ask(range)).page, page.items.length, page.total);
      return { state, items: complete(run, [...page.items, ...rest], page.total) };
    });
}

/** The `read_items` activity: how an agent's conversation begins. */
export function createReadItems(client: Client): (request: ItemsRequest) => Promise<ItemsAnswer> {
  return ({ to, ...run }) =>
    asFailure(async () => {
      const ask = (range: { from: number; to: number }) =>
        queryRun<ItemsPage>(client, run, QUERIES.items, range);
      return { items: complete(run, await readPages(ask, 0, to), to) };
    });
}

/** Half a conversation is none. */
function complete({ agent_id, run_id }: SnapshotRequest, items: Item[], expected: number): Item[] {
  if (items.length === expected) return items;
  throw new CadreError(
    'internal',
    `The run ${run_id} of ${agent_id} gave ${items.length} items of ${expected}.`,
    { retryable: true },
  );
}

async function asFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFailure(error, 1);
  }
}
