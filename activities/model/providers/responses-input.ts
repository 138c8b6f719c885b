import type { ResponseInputItem } from 'openai/resources/responses/responses';
import type { Item, Reasoning, ToolOutput } from '../../../protocol/index.ts';
import type { ImagePlace } from './image-file.ts';
import type { InputPart } from './input-part.ts';
import { imagePart, inputParts } from './input-parts.ts';
import { wellFormed } from './well-formed.ts';

/** A conversation as the Responses API reads it. */
export async function responsesInput(
  items: readonly Item[],
  place: ImagePlace,
  withReasoning: boolean,
): Promise<ResponseInputItem[]> {
  const input: ResponseInputItem[] = [];
  for (const item of wellFormed(items)) {
    switch (item.type) {
      case 'user_message':
      case 'notice':
      case 'summary':
        input.push({
          type: 'message',
          role: 'user',
          content: (await inputParts(item, place)).map(contentPart),
        });
        break;
      case 'assistant_message':
        input.push({
          role: 'assistant',
          content: item.text,
          ...(item.phase === undefined ? {} : { phase: item.phase }),
        });
        break;
      case 'reasoning': {
        const own = withReasoning ? ownReasoning(item) : undefined;
        if (own !== undefined) input.push(own);
        break;
      }
      case 'tool_call':
        input.push({
          type: 'function_call',
          call_id: item.call_id,
          name: item.name,
          arguments: item.arguments,
        });
        break;
      case 'tool_output':
        input.push({
          type: 'function_call_output',
          call_id: item.call_id,
          output: await outputOf(item, place),
        });
        break;
    }
  }
  return input;
}

async function outputOf({ output, image }: ToolOutput, place: ImagePlace) {
  if (image === undefined) return output;
  return [{ type: 'input_text' as const, text: output }, contentPart(await imagePart(image, place))];
}

function contentPart(part: InputPart) {
  return part.kind === 'text'
    ? ({ type: 'input_text', text: part.text } as const)
    : ({ type: 'input_image', image_url: part.url, detail: 'auto' } as const);
}

/** Only reasoning that carries its content can be sent back: nothing is stored with the provider. Searches do. */
function ownReasoning({ provider }: Reasoning): ResponseInputItem | undefined {
  if (provider?.type === 'web_search_call') return provider as unknown as ResponseInputItem;
  if (provider?.type !== 'reasoning') return undefined;
  const content = provider.content;
  const carried = provider.encrypted_content !== undefined || (Array.isArray(content) && content.length > 0);
  return carried ? (provider as unknown as ResponseInputItem) : undefined;
}
