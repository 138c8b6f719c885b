import type { Item } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { itemText } from '../render/item-lines.ts';
import { atAgent } from '../workplace.ts';

export default function items(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const all = await place.withAgent(id, 'answer', async (agent) => {
      const found: Item[] = [];
      let compacted = 0;
      for (let from: number | undefined = 0; from !== undefined; ) {
        const page = await agent.items({ from });
        found.push(...page.items);
        compacted = page.compacted;
        from = page.next;
      }
      return { agent_id: id, items: found, total: found.length, compacted };
    });
    if (invocation.output.format === 'jsonl') for (const item of all.items) invocation.output.line(item);
    else invocation.output.result(all, () => all.items.map(itemText).join('\n'));
    return EXIT.done;
  });
}
