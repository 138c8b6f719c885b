import { counted, type Item, plainText } from '../../protocol/index.ts';

/** One element of a conversation as text for people. */
export function itemText(item: Item): string {
  switch (item.type) {
    case 'user_message':
      return block(item.from === undefined ? 'user' : `from ${item.from}`, plainText(item.content));
    case 'assistant_message':
      return block('assistant', item.text);
    case 'reasoning':
      return block('reasoning', item.summary);
    case 'tool_call':
      return block(`call ${item.name} [${item.call_id}]`, item.arguments);
    case 'tool_output':
      return block(`output [${item.call_id}]${item.success ? '' : ' (failed)'}`, item.output);
    case 'notice':
      return block('notice', item.text);
    case 'summary':
      return block(`summary of ${counted(item.replaced.items, 'earlier item')}`, item.text);
  }
}

function block(head: string, body: string): string {
  const lines = body.trim() === '' ? '  (nothing)' : body.trimEnd().replaceAll(/^/gm, '  ');
  return `${head}\n${lines}\n`;
}
