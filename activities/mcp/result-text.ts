import { z } from 'zod';

const annotated = {
  text: z.string().optional(),
  mimeType: z.string().optional(),
  data: z.string().optional(),
};
const resource = z.looseObject({
  uri: z.string().optional(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const part = z.looseObject({
  type: z.string(),
  ...annotated,
  uri: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  resource: resource.optional(),
});
export type Part = z.infer<typeof part>;

/** The answer to a call, of which no more is demanded than is read. */
export const callResultSchema = z.looseObject({
  content: z.array(part).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type CallResult = z.infer<typeof callResultSchema>;

/**
 * What the model reads of an answer: texts as they are, what has fields as JSON, and of the rest what it is.
 *
 * @param images what is said of them
 */
export function resultText(
  { content = [], structuredContent }: CallResult,
  images: ReadonlyMap<Part, string>,
): string {
  const parts = content.map((one) => partText(one, images.get(one)));
  if (structuredContent !== undefined && !content.some((one) => saysTheSame(one, structuredContent))) {
    parts.push(JSON.stringify(structuredContent));
  }
  const text = parts.join('\n').replaceAll('\0', '\u2400');
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
  return `${Math.floor((base64.replace(/=+$/, '').length * 3) / 4)} bytes`;
}

/** Servers give what has fields as text, too, for clients that know nothing else. */
function saysTheSame(one: Part, structured: unknown): boolean {
  if (one.type !== 'text' || one.text === undefined) return false;
  try {
    return JSON.stringify(JSON.parse(one.text)) === JSON.stringify(structured);
  } catch {
    return false;
  }
}
