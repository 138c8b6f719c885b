import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { CadreError, type ContentPart } from '../../protocol/index.ts';
import { imageProblem } from '../model/providers/image-file.ts';

/**
 * The arguments of a call with the images in `items` named by whole paths: whoever reads them may work elsewhere than
 * whoever sends them. Arguments without items stay as they are.
 *
 * @param directory what paths are relative to: the folder of the agent that calls
 * @throws CadreError `invalid_arguments` for a file that no model could be shown
 */
export function withLocalImages(args: unknown, directory: string): unknown {
  const { items } = (args ?? {}) as { items?: ContentPart[] };
  if (!Array.isArray(items)) return args;
  return { ...(args as object), items: items.map((part, index) => found(part, index, directory)) };
}

function found(part: ContentPart, index: number, directory: string): ContentPart {
  if (part.type !== 'local_image') return part;
  const path = resolve(directory, part.path.replace(/^~(?=\/|$)/, homedir()));
  const problem = imageProblem(path);
  if (problem === undefined) return { ...part, path };
  throw new CadreError('invalid_arguments', `items.${index}: the local_image ${path}: ${problem}.`, {
    hint: 'Name an image that exists; name other files in the text, for the agent to read.',
  });
}
