import { condition, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import { type Item, textMessage } from '../../../protocol/items.ts';
import type { ItemsPage } from '../../../protocol/views.ts';

export interface ArchiveInput {
  name: string;
  items: number;
  /** The run that this one could not be brought back from. */
  unrestored?: string;
}

const PAGE = 4;
const LARGE_PAGE = 6;

type Range = { from?: number; to?: number; bytes?: number };

/** Stands in for the agent: answers what is asked of one whose conversation takes several pages. */
export async function agent({ name, items: count, unrestored }: ArchiveInput): Promise<void> {
  const items: Item[] = Array.from({ length: count }, (_, n) => textMessage(`${name} ${n}`));
  let finished = false;
  const page = ({ from = 0, to = items.length, bytes }: Range): ItemsPage => {
    const taken = items.slice(from, Math.min(to, from + (bytes === undefined ? PAGE : LARGE_PAGE)));
    const next = from + taken.length;
    return {
      items: taken,
      from,
      total: items.length,
      compacted: 0,
      ...(next < Math.min(to, items.length) ? { next } : {}),
    };
  };
  setHandler(defineQuery<ItemsPage, [Range]>('items'), page);
  setHandler(defineQuery<unknown, [Range]>('snapshot'), (range) => ({
    identity: { task: name },
    settings: { role: 'worker' },
    status: 'completed',
    closed: finished,
    note: `note of ${name}`,
    open_children: ['below'],
    reports: 7,
    ...(unrestored === undefined ? {} : { unrestored: { kind: 'resume', run_id: unrestored } }),
    state: range.from ? null : { of: name },
    page: page(range),
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
