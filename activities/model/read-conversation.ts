import type { Client } from '@temporalio/client';
import { CadreError, type Item, type ItemsPage, QUERIES } from '../../protocol/index.ts';
import type { ReadItems } from './conversation-cache.ts';

/** A query that a live workflow does not answer by then has to be tried again. */
const DEADLINE_MS = 30_000;

/** Reads conversations from their agents, page by page, by the `items` query of the run that the pointer names. */
export function conversationReader(client: Client): ReadItems {
  return async (pointer, from, to) => {
    const agent = client.workflow.getHandle(pointer.agent_id, pointer.run_id);
    const items: Item[] = [];
    while (from + items.length < to) {
      const range = { from: from + items.length, to };
      const page = await client
        .withDeadline(Date.now() + DEADLINE_MS, () =>
          agent.query<ItemsPage, [typeof range]>(QUERIES.items, range),
        )
        .catch((cause: unknown) => {
          throw new CadreError(
            'internal',
            `The conversation of ${pointer.agent_id} could not be read from its run ${pointer.run_id}: ${String(cause)}`,
            { retryable: true },
          );
        });
      if (page.items.length === 0) break;
      items.push(...page.items);
    }
    return items;
  };
}
