import type { Client } from '@temporalio/client';
import { type Item, type ItemsPage, QUERIES } from '../../protocol/index.ts';
import { queryRun } from '../query-run.ts';
import type { ReadItems } from './conversation-cache.ts';

/** Reads conversations from their agents, by the `items` query of the run that the pointer names. */
export function conversationReader(client: Client): ReadItems {
  return (pointer, from, to) =>
    readPages((range) => queryRun<ItemsPage>(client, pointer, QUERIES.items, range), from, to);
}

/** The items between two places, page by page; fewer where there are no more. */
async function readPages(
  ask: (range: { from: number; to: number }) => Promise<ItemsPage>,
  from: number,
  to: number,
): Promise<Item[]> {
  const items: Item[] = [];
  while (from + items.length < to) {
    const page = await ask({ from: from + items.length, to });
    if (page.items.length === 0) break;
    items.push(...page.items);
  }
  return items;
}
