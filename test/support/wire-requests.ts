import { type Item, textMessage } from '../../protocol/index.ts';

/** What a model server was asked, whichever wire format it came in. */
export interface SeenRequest {
  wire: 'responses' | 'chat';
  model: string;
  instructions: string;
  /** The conversation, turned back into items; an image is a text that says so. */
  items: Item[];
  /** Names of the offered tools. */
  tools: string[];
  agent: { id: string; role: string };
  /** Text of the first and of the last user message. */
  task: string;
  input: string;
  /** Answers that the model has given so far in this conversation. */
  answers: number;
  /** The newest tool outputs, those that no answer has seen. */
  outputs: string[];
  /** The body as it came. */
  body: Record<string, unknown>;
  headers: Record<string, string | string[] | undefined>;
}

type Json = Record<string, unknown>;

/** Reads a request of either format. */
export function seenRequest(
  wire: 'responses' | 'chat',
  body: Json,
  headers: SeenRequest['headers'],
): SeenRequest {
  const items = wire === 'responses' ? fromInput(list(body.input)) : fromMessages(list(body.messages));
  const system = list(body.messages).find((message) => message.role === 'system');
  const users = items.flatMap((item) => (item.type === 'user_message' ? [textOf(item)] : []));
  const last = items.findLastIndex((item) => isMade(item));
  return {
    wire,
    model: String(body.model),
    instructions: String((wire === 'responses' ? body.instructions : system?.content) ?? ''),
    items,
    tools: list(body.tools).map((tool) =>
      String((tool.function as Json | undefined)?.name ?? tool.name ?? tool.type),
    ),
    agent: { id: header(headers, 'x-cadre-agent'), role: header(headers, 'x-cadre-role') },
    task: users[0] ?? '',
    input: users.at(-1) ?? '',
    answers: items.filter((item, index) => isMade(item) && !isMade(items[index - 1])).length,
    outputs: items.slice(last + 1).flatMap((item) => (item.type === 'tool_output' ? [item.output] : [])),
    body,
    headers,
  };
}

function fromInput(input: Json[]): Item[] {
  return input.flatMap((entry): Item[] => {
    switch (entry.type ?? 'message') {
      case 'message':
        return entry.role === 'assistant'
          ? [{ type: 'assistant_message', text: contentText(entry.content) }]
          : userItems(entry.content);
      case 'reasoning':
        return [{ type: 'reasoning', summary: '', provider: entry }];
      case 'function_call':
        return [call(entry.call_id, entry.name, entry.arguments)];
      case 'function_call_output':
        return [output(entry.call_id, entry.output)];
      default:
        return [];
    }
  });
}

function fromMessages(messages: Json[]): Item[] {
  return messages.flatMap((message): Item[] => {
    switch (message.role) {
      case 'user':
        return userItems(message.content);
      case 'tool':
        return [output(message.tool_call_id, message.content)];
      case 'assistant':
        return [
          ...(message.content ? [{ type: 'assistant_message' as const, text: String(message.content) }] : []),
          ...list(message.tool_calls).map((made) => {
            const { name, arguments: args } = made.function as Json;
            return call(made.id, name, args);
          }),
        ];
      default:
        return [];
    }
  });
}

/** Notices and messages of other agents are found again by the marks around them. */
function userItems(content: unknown): Item[] {
  const text = contentText(content);
  const items: Item[] = [];
  const marked = /<notice>\n([\s\S]*?)\n<\/notice>|<message from="([^"]*)">\n([\s\S]*?)\n<\/message>/g;
  let at = 0;
  for (const match of text.matchAll(marked)) {
    items.push(...plain(text.slice(at, match.index)));
    if (match[1] === undefined) items.push(textMessage(match[3] ?? '', match[2]));
    else items.push({ type: 'notice', text: match[1] });
    at = match.index + match[0].length;
  }
  items.push(...plain(text.slice(at)));
  return items;
}

function plain(text: string): Item[] {
  return text.trim() === '' ? [] : [textMessage(text.trim())];
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return list(content)
    .map((part) => (typeof part.text === 'string' ? part.text : '[image]'))
    .join('\n\n');
}

function call(id: unknown, name: unknown, args: unknown): Item {
  return { type: 'tool_call', call_id: String(id), name: String(name), arguments: String(args) };
}

function output(id: unknown, text: unknown): Item {
  return { type: 'tool_output', call_id: String(id), output: String(text), success: true };
}

function textOf(item: Extract<Item, { type: 'user_message' }>): string {
  return item.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

function isMade(item: Item | undefined): boolean {
  return item?.type === 'assistant_message' || item?.type === 'tool_call' || item?.type === 'reasoning';
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function header(headers: SeenRequest['headers'], name: string): string {
  return decodeURIComponent(String(headers[name] ?? ''));
}
