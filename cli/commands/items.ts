import type { Agent } from '../../client/index.ts';
import type { Item } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { itemText } from '../render/item-lines.ts';

export default function items(
  invocation: Invocation,
  [reference]: [string],
  { whole = false }: { whole?: boolean },
): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const found = await place.withAgent(id, 'answer', (agent) => read(agent, whole));
    const { output } = invocation;
    if (output.format === 'jsonl') for (const item of found.items) output.line(item);
    else output.result({ agent_id: id, ...found }, () => found.items.map(itemText).join('\n'));
    return EXIT.done;
  });
}

/** `compacted`: how many items summaries have replaced, whether or not they are among these. */
async function read(
  agent: Agent,
  whole: boolean,
): Promise<{ items: Item[]; total: number; compacted: number }> {
  const items: Item[] = [];
  let compacted = 0;
  if (whole) {
    for await (const item of agent.wholeConversation()) items.push(item);
    ({ compacted } = await agent.items({ from: 0, to: 0 }));
  } else {
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page = await agent.items({ from });
      items.push(...page.items);
      compacted = page.compacted;
      from = page.next;
    }
  }
  return { items, total: items.length, compacted };
}
