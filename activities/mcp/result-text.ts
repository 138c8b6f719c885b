import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { withNulShown } from '../with-nul-shown.ts';

/** Many servers write out as null what is not there. */
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined)
  .optional();
const resource = z.looseObject({ uri: text, mimeType: text, text, blob: text });
const part = z.looseObject({
  type: z.string(),
  text,
  mimeType: text,
  data: text,
  uri: text,
  name: text,
  description: text,
  resource: resource.nullish(),
});
export type Part = z.infer<typeof part>;
const UNREADABLE: Part = { type: 'unreadable part' };

/**
 * The answer to a call, of which no more is demanded than is read: it has been made, and what is wrong with a part of the
 * answer is no reason to lose the rest.
 */
export const callResultSchema = z.looseObject({
  content: z.array(part.catch(UNREADABLE)).nullish().catch([UNREADABLE]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish().catch(true),
});
export type CallResult = z.infer<typeof callResultSchema>;

/**
 * What the model reads of an answer: texts as they are, what has fields as JSON, and of the rest what it is.
 *
 * @param images what is said of them
 */
export function resultText(
  { content: given, structuredContent }: CallResult,
  images: ReadonlyMap<Part, string>,
): string {
  const content = given ?? [];
  const parts = content.map((one) => partText(one, images.get(one)));
  if (structuredContent != null && !isSaid(structuredContent, content)) {
    parts.push(JSON.stringify(structuredContent));
  }
  const text = withNulShown(parts.join('\n'));
  return text === '' ? '(no content)' : text;
}

function partText(one: Part, said = 'not shown'): string {
  switch (one.type) {
    case 'text':
      return one.text ?? '';
    case 'image':
    case 'audio':
      return `[${one.type}${kindOf(one.mimeType)}, ${bytesOf(one.data)}: ${said}]`;
    case 'resource':
      return resourceText(one.resource ?? {});
    case 'resource_link': {
      const about = one.description === undefined ? '' : `: ${one.description}`;
      return `[resource ${one.uri ?? ''} ${one.name ?? ''}${kindOf(one.mimeType)}${about}]`;
    }
    default:
      return `[${one.type}: not shown]`;
  }
}

function resourceText({ uri = '', mimeType, text, blob }: z.infer<typeof resource>): string {
  if (text !== undefined) return `[resource ${uri}${kindOf(mimeType)}]\n${text}`;
  return `[resource ${uri}${kindOf(mimeType)}, ${bytesOf(blob)}: not shown]`;
}

function kindOf(mimeType: string | undefined): string {
  return mimeType === undefined ? '' : ` ${mimeType}`;
}

function bytesOf(base64 = ''): string {
  return `${Buffer.byteLength(base64, 'base64')} bytes`;
}

/**
 * Servers give what has fields as other content, too, for clients that know nothing else; and much that has none they put
 * into a single field, a text or the content itself.
 */
function isSaid(structured: unknown, content: readonly Part[]): boolean {
  if (isSaidBy(content, structured)) return true;
  const values = isObject(structured) ? Object.values(structured) : [];
  return values.length === 1 && isSaidBy(content, values[0]);
}

function isSaidBy(content: readonly Part[], value: unknown): boolean {
  if (content.some((part) => says(part, value))) return true;
  const isList = Array.isArray(value) && value.length > 0 && value.length === content.length;
  if (isList) return content.every((part, index) => says(part, value[index]));
  return typeof value === 'string' && value === content.map(({ text }) => text).join('\n');
}

/** Compared with no regard to the order of fields. */
function says(part: Part, value: unknown): boolean {
  if (part.type !== 'text' || part.text === undefined) return isDeepStrictEqual(part, value);
  return part.text === value || isDeepStrictEqual(parsed(part.text), value) || isDeepStrictEqual(part, value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined, which no JSON is, for what is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
