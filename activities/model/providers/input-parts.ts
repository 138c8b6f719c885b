import type { ContentPart, Notice, Summary, UserMessage } from '../../../protocol/index.ts';
import type { ShownImage } from './call-images.ts';
import { type ImagePlace, imageAddress } from './image-file.ts';
import type { InputPart } from './input-part.ts';

/**
 * What a model reads for a message, a notice or a summary. A message from another agent is wrapped in its sender's
 * name, a notice in `<notice>`, so that the model can tell them from what a person says.
 */
export async function inputParts(
  item: UserMessage | Notice | Summary,
  place: ImagePlace,
): Promise<InputPart[]> {
  if (item.type !== 'user_message') return [{ kind: 'text', text: wrap(item.type, '', item.text) }];
  const parts = await Promise.all(item.content.map((part) => inputPart(part, place)));
  if (item.from === undefined) return parts;
  const [only, ...more] = parts;
  const from = ` from="${item.from.replaceAll('"', "'")}"`;
  if (only?.kind === 'text' && more.length === 0) {
    return [{ kind: 'text', text: wrap('message', from, only.text) }];
  }
  return [{ kind: 'text', text: `<message${from}>` }, ...parts, { kind: 'text', text: '</message>' }];
}

async function inputPart(part: ContentPart, place: ImagePlace): Promise<InputPart> {
  switch (part.type) {
    case 'text':
      return { kind: 'text', text: part.text };
    case 'image':
      return shown({ url: part.image_url, name: nameOf(part.image_url) }, place);
    case 'local_image':
      return imagePart(part, place);
    case 'mention':
      return { kind: 'text', text: `[mentioned: ${part.name}, at ${part.path}]` };
    case 'skill':
      return { kind: 'text', text: `[use the skill ${part.name}: its instructions are in ${part.path}]` };
  }
}

/** An image file; or in its place, that it could not be had. */
export async function imagePart(
  file: { path: string; sha256?: string | undefined },
  place: ImagePlace,
): Promise<InputPart> {
  try {
    const url = await imageAddress(file, place);
    return shown({ url, name: `the image ${file.path}`, sha256: file.sha256 }, place);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'text', text: `[the image ${file.path} could not be attached: ${reason}]` };
  }
}

function shown(image: ShownImage, { images }: ImagePlace): InputPart {
  return images?.shown(image) ?? { kind: 'image', url: image.url };
}

function nameOf(address: string): string {
  return address.startsWith('data:') ? 'an image' : `the image ${address}`;
}

/** The end mark inside the text is broken up, so that nobody speaks in another's name. */
function wrap(tag: string, attributes: string, text: string): string {
  return `<${tag}${attributes}>\n${text.replaceAll(`</${tag}>`, `<\\/${tag}>`)}\n</${tag}>`;
}
