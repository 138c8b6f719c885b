import type { Client } from '@temporalio/client';
import {
  CadreError,
  type ConversationPointer,
  type Item,
  type ItemsPage,
  QUERIES,
  type SessionId,
  type SessionSettings,
} from '../protocol/index.ts';

/** Reads what all agents of a session share, from its root. */
export function readSession(client: Client) {
  return async (session: SessionId): Promise<SessionSettings> => {
    const settings = await client.workflow.getHandle(session).query<SessionSettings | null>(QUERIES.session);
    if (settings === null)
      throw new CadreError('internal', `agent ${session} is no root and has no session settings`);
    return settings;
  };
}

/** Reads the items before the fresh ones from the agent's own workflow, page by page, by run id. */
export function readPrefix(client: Client) {
  return async (pointer: ConversationPointer, count: number): Promise<Item[]> => {
    const handle = client.workflow.getHandle(pointer.agent_id, pointer.run_id);
    const items: Item[] = [];
    let from: number | undefined = 0;
    while (from !== undefined && from < count) {
      const page: ItemsPage = await handle.query(QUERIES.items, { from, to: count });
      items.push(...page.items);
      from = page.next;
    }
    return items;
  };
}
