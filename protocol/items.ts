import { z } from 'zod';
import { boundedText, NAME_MAX, PATH_MAX } from './text-length.ts';

const name = boundedText(NAME_MAX);
const path = boundedText(PATH_MAX);

/** One piece of what a person or an agent sends. */
export const contentPartSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    image_url: z
      .string()
      .regex(
        /^(https?:\/\/\S|data:image\/)/i,
        'is no address of an image that a model takes: https://…, http://… or data:image/…',
      )
      .describe('An http(s): or data:image/ address'),
  }),
  z.strictObject({ type: z.literal('local_image'), path, sha256: boundedText(64).optional() }),
  z.strictObject({ type: z.literal('mention'), name, path }),
  z.strictObject({ type: z.literal('skill'), name, path }),
]);
export type ContentPart = z.infer<typeof contentPartSchema>;

/** Input to the agent, from a person or another agent. */
export interface UserMessage {
  type: 'user_message';
  content: ContentPart[];
  /** The agent that sent it; absent for a person or a program. */
  from?: string;
}

export interface AssistantMessage {
  type: 'assistant_message';
  text: string;
  /** As the provider marked it; sent back to it. */
  phase?: 'commentary' | 'final_answer';
}

/** What the model thought; sent back to it as it came. `provider` holds the provider's own item. */
export interface Reasoning {
  type: 'reasoning';
  summary: string;
  provider?: Record<string, unknown>;
}

export interface ToolCall {
  type: 'tool_call';
  call_id: string;
  name: string;
  /** As the model wrote it: usually JSON, but nothing is certain. */
  arguments: string;
}

export interface ToolOutput {
  type: 'tool_output';
  call_id: string;
  output: string;
  success: boolean;
  /** Names the stored whole of an output that was cut. */
  handle?: string;
  /** What the model is shown with it. */
  image?: ImageFile;
}

/** An image file, and what it was when it was shown (decision 034). */
export interface ImageFile {
  path: string;
  sha256: string;
}

/** Told to the model by Cadre itself: a child's announcement, an interruption, a state notice. */
export interface Notice {
  type: 'notice';
  text: string;
}

/** Counts of the items that a summary stands for. */
export interface Replaced {
  items: number;
  user_messages: number;
  /** Answers of the model, in all and since the newest of those user messages. */
  answers: number;
  answers_since: number;
}

/** What stands for the items before it, which the model is no longer shown: a summary, and how things stand. */
export interface Summary {
  type: 'summary';
  text: string;
  /** What it stands for, over all the times that this conversation was compacted. */
  replaced: Replaced;
}

/** One element of a conversation. */
export type Item = UserMessage | AssistantMessage | Reasoning | ToolCall | ToolOutput | Notice | Summary;

export function textMessage(text: string, from?: string): UserMessage {
  const content: ContentPart[] = [{ type: 'text', text }];
  return from === undefined ? { type: 'user_message', content } : { type: 'user_message', content, from };
}

/** The text of a message, other parts shown by name. */
export function plainText(content: readonly ContentPart[]): string {
  return content
    .map((part) => {
      switch (part.type) {
        case 'text':
          return part.text;
        case 'image':
          return '[image]';
        case 'local_image':
          return `[image ${part.path}]`;
        default:
          return `[${part.type} ${part.name}: ${part.path}]`;
      }
    })
    .join('\n');
}

/** The items before an answer whose calls have no outputs yet: a conversation that any provider takes. */
export function settledLength(items: readonly Item[]): number {
  const answered = new Set(items.flatMap((item) => (item.type === 'tool_output' ? [item.call_id] : [])));
  const open = items.findIndex((item) => item.type === 'tool_call' && !answered.has(item.call_id));
  if (open < 0) return items.length;
  return items.findLastIndex((item, index) => index < open && !isMade(item)) + 1;
}

/** Whether a model has made it. */
export function isMade({ type }: Item): boolean {
  return type === 'assistant_message' || type === 'reasoning' || type === 'tool_call';
}

/** How many answers of a model the items hold: what it made in one go counts as one. */
export function countAnswers(items: readonly Item[]): number {
  return items.filter((item, index) => {
    const before = items[index - 1];
    return isMade(item) && (before === undefined || !isMade(before));
  }).length;
}

/** Where the items begin that stand behind the newest summary, and what that stands for. */
export function behindSummary(items: readonly Item[]): { index: number; replaced: Replaced } {
  const index = items.findLastIndex((item) => item.type === 'summary');
  const summary = items[index];
  if (summary?.type === 'summary') return { index: index + 1, replaced: summary.replaced };
  return { index: 0, replaced: { items: 0, user_messages: 0, answers: 0, answers_since: 0 } };
}
