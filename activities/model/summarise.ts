import {
  addUsage,
  CadreError,
  type ContentPart,
  type Item,
  noUsage,
  textMessage,
  type Usage,
} from '../../protocol/index.ts';
import type { ModelCall, ModelProvider, ModelReply } from './providers/provider.ts';

const REQUEST = `The conversation above has grown long and is about to be replaced by a summary that you write now; you go on with your work from it, without seeing what it replaces. Call no tools. Write, under headings and as briefly as is safe:
- the task, with every requirement, limit and preference that was stated, and who stated it
- what was done and what came of it: files, commands, results, with exact paths, names and numbers
- what was found out, also what did not work and should not be tried again
- decisions and their reasons
- what is under way, and the next steps in order
- open questions
Leave out greetings and what has been overtaken. Do not invent anything.`;

/** How often the request is made smaller when it is more than the model takes. */
const TRIES = 6;
/** Of a text in a request that was too large, in characters. */
const TEXT_SHOWN = 1_000;
/** Of what somebody has said: it may be the task. */
const MESSAGE_SHOWN = 16_000;

/**
 * Has a model summarise a conversation. Where even that is more than it takes, long texts are shortened first, then
 * the oldest items left out, but for the first, which is the task.
 *
 * @returns a reply that holds nothing but text, and the usage of all calls it took
 */
export async function summarise(
  provider: ModelProvider,
  call: ModelCall,
  signal: AbortSignal,
): Promise<ModelReply> {
  let usage: Usage = noUsage;
  // Tools stay on offer, so that what the provider keeps of earlier calls serves this one.
  let { items, tools } = call;
  const { output_schema: _, web_search: search, ...rest } = call;
  for (let tries = 0; ; tries++) {
    try {
      const searches = tools.length === 0 || search === undefined ? {} : { web_search: search };
      const request = textMessage(REQUEST);
      const asked = { ...rest, ...searches, tools, items: [...items, request], summary: true } as const;
      const reply = await provider.complete(asked, { signal, onDelta: () => {} });
      usage = addUsage(usage, reply.usage);
      const text = reply.items.filter((item) => item.type === 'assistant_message');
      if (text.length > 0 || tools.length === 0) return { items: text, usage };
      tools = [];
    } catch (error) {
      if (!(error instanceof CadreError) || error.code !== 'context_full' || tries >= TRIES) throw error;
      items = tries === 0 ? items.map(shortened) : withoutOldest(items);
    }
  }
}

function shortened(item: Item): Item {
  switch (item.type) {
    case 'tool_output':
      return { ...item, output: head(item.output, TEXT_SHOWN) };
    case 'tool_call':
      // Half of a JSON text would be none.
      return item.arguments.length > TEXT_SHOWN ? { ...item, arguments: '{}' } : item;
    case 'user_message':
      return { ...item, content: item.content.map(shortenedPart) };
    default:
      return item;
  }
}

function shortenedPart(part: ContentPart): ContentPart {
  return part.type === 'text' ? { ...part, text: head(part.text, MESSAGE_SHOWN) } : part;
}

function head(text: string, shown: number): string {
  return text.length <= shown ? text : `${text.slice(0, shown)}… (${text.length} characters)`;
}

/** Half of them; outputs whose calls are gone are left out by whoever puts the request together. */
function withoutOldest(items: readonly Item[]): Item[] {
  const [task, ...others] = items;
  return task === undefined ? [] : [task, ...others.slice(Math.ceil(others.length / 2))];
}
