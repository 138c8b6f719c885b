import type { Item, ToolCall, ToolOutput } from '../../../protocol/index.ts';

/** Stands for the output of a call that never got one. */
export const MISSING_OUTPUT = '[no output: the call was stopped before it ended]';

const NAME_MAX = 64;

/**
 * The conversation in an order that every provider takes, also after an interruption: the calls of one answer are
 * followed at once by their outputs, in the order of the calls; a missing output is filled, one without a call is
 * left out. Names and arguments that a provider would refuse are made harmless: what was wrong with them stands in
 * the output.
 */
export function wellFormed(items: readonly Item[]): Item[] {
  const ordered: Item[] = [];
  const outputs = outputsByCall(items);
  let calls: { call: ToolCall; index: number }[] = [];

  const answerCalls = () => {
    for (const { call, index } of calls) ordered.push(outputs(call, index));
    calls = [];
  };

  for (const [index, item] of items.entries()) {
    if (item.type === 'tool_call') {
      calls.push({ call: item, index });
      ordered.push({ ...item, name: safeName(item.name), arguments: safeArguments(item.arguments) });
    } else if (item.type === 'assistant_message' || item.type === 'reasoning') {
      ordered.push(item);
    } else {
      answerCalls();
      if (item.type !== 'tool_output') ordered.push(item);
    }
  }
  answerCalls();
  return withoutIdleReasoning(ordered);
}

/** Finds the output of the call at an index. Ids may come again in a later answer, so outputs are used up in order. */
function outputsByCall(items: readonly Item[]): (call: ToolCall, index: number) => ToolOutput {
  const byId = Map.groupBy(
    [...items.entries()].filter((entry): entry is [number, ToolOutput] => entry[1].type === 'tool_output'),
    ([, output]) => output.call_id,
  );
  return (call, index) => {
    const waiting = byId.get(call.call_id) ?? [];
    while (waiting.length > 0) {
      const [at, output] = waiting.shift() as [number, ToolOutput];
      if (at > index) return output;
    }
    return { type: 'tool_output', call_id: call.call_id, output: MISSING_OUTPUT, success: false };
  };
}

/** Providers refuse reasoning that leads to nothing: a message or a call of the same answer has to follow. */
function withoutIdleReasoning(items: Item[]): Item[] {
  let leads = false;
  return items
    .toReversed()
    .filter((item) => {
      if (item.type === 'reasoning') return leads;
      leads = item.type === 'assistant_message' || item.type === 'tool_call';
      return item.type !== 'assistant_message' || item.text !== '';
    })
    .toReversed();
}

function safeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_MAX) || 'unnamed';
}

function safeArguments(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : '{}';
  } catch {
    return '{}';
  }
}
