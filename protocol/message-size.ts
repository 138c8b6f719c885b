import { z } from 'zod';
import { type ContentPart, contentPartSchema } from './items.ts';

/** What one message may be, in bytes of UTF-8: more than any model reads at once, and less than Temporal refuses. */
export const MESSAGE_BYTES_MAX = 1_000_000;

/** How many parts one message may have. */
export const MESSAGE_PARTS_MAX = 1_000;

/** How many characters the reason of an interrupt, a closing or a decision may have. */
export const REASON_MAX = 2_000;

/** What helps where a message is too large. */
export const LARGE_MESSAGE_HINT =
  'Put it into a file in the working directory, and name the file: the agent reads what it needs.';

const utf8 = new TextEncoder();

/** What is wrong with the size of a message, as `too large: …`; undefined where it fits. Images do not count. */
export function sizeProblem(message: string | readonly ContentPart[]): string | undefined {
  const texts =
    typeof message === 'string' ? [message] : message.map((part) => (part.type === 'text' ? part.text : ''));
  const bytes = texts.reduce((sum, text) => sum + utf8.encode(text).length, 0);
  if (bytes <= MESSAGE_BYTES_MAX) return undefined;
  return `too large: ${megabytes(bytes)}, of ${megabytes(MESSAGE_BYTES_MAX)} at most`;
}

/** Rounded up, so that what is too large by a byte looks it. */
function megabytes(bytes: number): string {
  return `${(Math.ceil(bytes / 10_000) / 100).toFixed(2)} MB`;
}

function requireFitting(message: string | ContentPart[], context: z.RefinementCtx): void {
  const problem = sizeProblem(message);
  if (problem !== undefined)
    context.addIssue({ code: 'custom', message: `${problem}. ${LARGE_MESSAGE_HINT}` });
}

/** A text that goes to an agent. */
export const messageTextSchema = z.string().superRefine(requireFitting);
/** The same as a list of parts; what a tool call may give is what an agent takes. */
export const messagePartsSchema = z
  .array(contentPartSchema)
  .min(1)
  .max(MESSAGE_PARTS_MAX)
  .superRefine(requireFitting);

/** Whether there is nothing to act on: no text but blanks, and nothing else. */
export function isBlank(message: string | readonly ContentPart[]): boolean {
  if (typeof message === 'string') return message.trim() === '';
  return message.every((part) => part.type === 'text' && part.text.trim() === '');
}

interface MessageOrParts {
  message?: string | undefined;
  items?: ContentPart[] | undefined;
}

/** For what takes a message or the parts of one: exactly one of the two, and something in it. */
export function requireOneMessage({ message, items }: MessageOrParts, context: z.RefinementCtx): void {
  requireOne('message', message, items, context);
}

/** The same where the text has another name. */
export function requireOne(
  name: string,
  text: string | undefined,
  items: ContentPart[] | undefined,
  context: z.RefinementCtx,
): void {
  if ((text === undefined) === (items === undefined)) {
    context.addIssue({ code: 'custom', message: `give either ${name} or items` });
  } else if (isBlank(text ?? items ?? [])) {
    context.addIssue({ code: 'custom', message: `${text === undefined ? 'items are' : `${name} is`} blank` });
  }
}
