import {
  behindSummary,
  CadreError,
  type Item,
  type ItemsPage,
  type ItemsQuery,
  LARGE_PAGE_BYTES,
  QUERIES,
} from '../protocol/index.ts';
import type { AgentLine } from './agent-line.ts';
import { isMissing } from './is-missing.ts';

/** What the model is shown of a conversation now, or was at the end of that run. */
export async function shownItems(line: AgentLine, runId?: string): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages(line, {}, runId)) items.push(item);
  return items;
}

/**
 * A whole conversation: also the items that summaries have replaced, without those summaries.
 *
 * @throws CadreError `agent_not_found` when Temporal keeps a run no longer that holds some of them
 */
export async function* wholeConversation(line: AgentLine): AsyncGenerator<Item> {
  const { replaced_in: runs = [] } = await line.query<ItemsPage>(QUERIES.items, { from: 0, to: 0 });
  for (const { run_id: runId } of runs) yield* replacedIn(line, runId);
  const shown = await shownItems(line);
  yield* shown.slice(behindSummary(shown).index);
}

async function* replacedIn(line: AgentLine, runId: string): AsyncGenerator<Item> {
  try {
    yield* pages(line, { replaced: true }, runId);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const message = `Temporal keeps the run ${runId} of ${line.id} no longer, which holds the beginning of its conversation.`;
    throw new CadreError('agent_not_found', message, {
      hint: 'Ask without what summaries have replaced.',
      cause: error,
    });
  }
}

async function* pages(line: AgentLine, range: ItemsQuery, runId?: string): AsyncGenerator<Item> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const query = { ...range, from, bytes: LARGE_PAGE_BYTES };
    const page: ItemsPage = await line.query<ItemsPage>(QUERIES.items, query, runId);
    yield* page.items;
    from = page.next;
  }
}
