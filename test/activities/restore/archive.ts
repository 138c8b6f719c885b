import { condition, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import { type Item, textMessage } from '../../../protocol/items.ts';
import type { ItemsPage } from '../../../protocol/views.ts';

export interface ArchiveInput {
  name: string;
  items: number;
}

const PAGE = 4;

/** Stands in for the agent: answers what is asked of one whose conversation takes several pages. */
export async function agent({ name, items: count }: ArchiveInput): Promise<void> {
  const items: Item[] = Array.from({ length: count }, (_, n) => textMessage(`${name} ${n}`));
  let finished = false;
  const page = (from = 0, to = items.length): ItemsPage => {
    const taken = items.slice(from, Math.min(to, from + PAGE));
    const next = from + taken.length;
    return {
      items: taken,
      from,
      total: items.length,
      compacted: 0,
      ...(next < Math.min(to, items.length) ? { next } : {}),
    };
  };
  type Range = { from?: number; to?: number };
  setHandler(defineQuery<ItemsPage, [Range]>('items'), ({ from, to }) => page(from, to));
  setHandler(defineQuery<unknown, [Range]>('snapshot'), ({ from, to }) => ({
    identity: { task: name },
    settings: { role: 'worker' },
    status: 'completed',
    closed: finished,
    note: `note of ${name}`,
    open_children: ['below'],
    state: from ? null : { of: name },
    page: page(from, to),
  }));
  // An open agent goes on while it is read.
  setHandler(defineSignal('more'), () => {
    items.push(textMessage('more'));
  });
  setHandler(defineSignal('finish'), () => {
    finished = true;
  });
  await condition(() => finished);
}

export async function stranger(): Promise<void> {}
