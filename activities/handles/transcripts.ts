import type { Client } from '@temporalio/client';
import {
  type AgentId,
  CadreError,
  type Item,
  type ItemsPage,
  LARGE_PAGE_BYTES,
  QUERIES,
  sessionOf,
  WORKFLOW_TYPE,
} from '../../protocol/index.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import { describeNewest, queryRun } from '../query-run.ts';
import { orFromRollout } from '../restore/past-in-rollout.ts';

/** Reads the conversation of an agent as its model is shown it now, or was at its end. */
export type ReadTranscript = (agent: AgentId) => AsyncIterable<Item>;

/**
 * Asks the agent's newest run page by page, whether it is open or closed; where Temporal keeps none of it, the rollout of
 * its session is read.
 *
 * @throws CadreError `agent_not_found`; else a retryable one where nobody answers
 */
export function transcriptReader(client: Client, rollouts?: Rollouts): ReadTranscript {
  return async function* (id) {
    const run = { agent_id: id, run_id: await newestRun(client, id, rollouts) };
    // What is added while it is read is no part of it.
    let end = Number.POSITIVE_INFINITY;
    for (let from = 0; from < end; ) {
      const page = await orFromRollout<Pick<ItemsPage, 'items' | 'total'>>(
        rollouts,
        run,
        queryRun<ItemsPage>(client, run, QUERIES.items, { from, bytes: LARGE_PAGE_BYTES }),
        async (rollout, { items: total }) => {
          const items = await rollout.items(id, from, total, LARGE_PAGE_BYTES);
          return { items, total };
        },
      );
      end = Math.min(end, page.total);
      if (page.items.length === 0) return;
      yield* page.items.slice(0, end - from);
      from += page.items.length;
    }
  };
}

async function newestRun(client: Client, id: AgentId, rollouts: Rollouts | undefined): Promise<string> {
  const found = await describeNewest(client, id);
  if (found?.type === WORKFLOW_TYPE) return found.runId;
  const left = found === undefined ? (await rollouts?.find(sessionOf(id)))?.agent(id) : undefined;
  if (left !== undefined) return left.run_id;
  throw new CadreError('agent_not_found', `There is no agent ${id}, or Temporal keeps it no longer.`);
}
