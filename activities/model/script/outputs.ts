import type { Item } from '../../../protocol/index.ts';

/** The id of a scripted call: its name, and the number of the answer that it is part of. */
export function scriptedCallId(name: string, answer: number): string {
  return `${name}-${answer}`;
}

/**
 * The outputs of a conversation by the name of their call, the newest of each name. Outputs that are JSON objects or
 * lists can be looked into, others are texts.
 */
export function outputsByName(items: readonly Item[]): Record<string, unknown> {
  const outputs: Record<string, unknown> = {};
  for (const item of items) {
    const name = item.type === 'tool_output' ? /^(.+)-\d+$/.exec(item.call_id)?.[1] : undefined;
    if (item.type === 'tool_output' && name !== undefined) outputs[name] = parsed(item.output);
  }
  return outputs;
}

function parsed(output: string): unknown {
  if (!/^\s*[{[]/.test(output)) return output;
  try {
    return JSON.parse(output);
  } catch {
    return output;
  }
}
