import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { AssistantMessage, Item, Reasoning, ToolCall } from '../../../protocol/index.ts';
import type { ImagePlace } from './image-file.ts';
import type { InputPart } from './input-part.ts';
import { imagePart, inputParts } from './input-parts.ts';
import { wellFormed } from './well-formed.ts';

/** In which field of a message a server gave its reasoning: kept, so that it gets it back in the same. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

type ModelItem = Reasoning | AssistantMessage | ToolCall;

/**
 * A conversation as Chat Completions reads it: what belongs to one answer is one assistant message, what stands
 * between answers is one user message.
 */
export async function chatMessages(
  instructions: string,
  items: readonly Item[],
  place: ImagePlace,
): Promise<ChatCompletionMessageParam[]> {
  const messages: ChatCompletionMessageParam[] = [];
  if (instructions !== '') messages.push({ role: 'system', content: instructions });
  let answer: ModelItem[] = [];
  let input: InputPart[] = [];
  const turnStart = items.findLastIndex((item) => item.type === 'user_message');
  const thisTurn = new Set<Item>(items.slice(turnStart + 1));

  const endAnswer = () => {
    const message = assistantMessage(answer, (item) => thisTurn.has(item));
    if (message !== undefined) messages.push(message);
    answer = [];
  };
  const endInput = () => {
    if (input.length > 0) messages.push({ role: 'user', content: userContent(input) });
    input = [];
  };

  for (const item of wellFormed(items)) {
    switch (item.type) {
      case 'user_message':
      case 'notice':
      case 'summary':
        endAnswer();
        input.push(...(await inputParts(item, place)));
        break;
      case 'tool_output':
        endAnswer();
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: item.output });
        // Outputs hold text alone here: images come behind all of this answer's.
        if (item.image !== undefined) input.push(await imagePart(item.image, place));
        break;
      default:
        endInput();
        answer.push(item);
    }
  }
  endAnswer();
  endInput();
  return messages;
}

function userContent(parts: InputPart[]): string | ChatCompletionContentPart[] {
  if (parts.every((part) => part.kind === 'text')) return parts.map((part) => part.text).join('\n\n');
  return parts.map((part) =>
    part.kind === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: part.url } },
  );
}

/** Servers that reason want it back while the turn goes on, and not later: so the turn's own is sent. */
function assistantMessage(
  answer: ModelItem[],
  isOfThisTurn: (item: Item) => boolean,
): ChatCompletionAssistantMessageParam | undefined {
  const texts = answer.flatMap((item) => (item.type === 'assistant_message' ? [item.text] : []));
  const calls = answer.filter((item) => item.type === 'tool_call');
  if (texts.length === 0 && calls.length === 0) return undefined;
  const thoughts = answer.filter((item) => item.type === 'reasoning').filter(isOfThisTurn);
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join('\n\n'),
    ...Object.assign({}, ...thoughts.map(thoughtField)),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.call_id,
            type: 'function' as const,
            function: { name: call.name, arguments: call.arguments },
          })),
        }),
  };
}

function thoughtField({ provider, summary }: Reasoning): Record<string, string> {
  const field = REASONING_FIELDS.find((name) => name === provider?.chat_field);
  return field === undefined ? {} : { [field]: summary };
}
