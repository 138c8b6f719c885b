import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { CadreError, type ContentPart } from '../../protocol/index.ts';
import { imageDigest } from '../model/providers/image-file.ts';

/**
 * The arguments of a call with the images in `items` named by whole paths, since whoever reads them may work elsewhere
 * than whoever sends them, and with their digests, since a file may be edited before it is read. Arguments without
 * items stay as they are.
 *
 * @param directory what paths are relative to: the folder of the agent that calls
 * @throws CadreError `invalid_arguments` for a file that no model could be shown, or that is not the one that was meant
 */
export function withLocalImages(args: unknown, directory: string): unknown {
  const { items, message } = (args ?? {}) as { items?: ContentPart[]; message?: unknown };
  if (!Array.isArray(items)) return args;
  // Only a call that gives images apart from its text has a message beside the items made of both: the first of them.
  const placeOf = (index: number): string =>
    message === undefined ? `items.${index}` : `images.${index - 1}`;
  return {
    ...(args as object),
    items: items.map((part, index) => attached(part, placeOf(index), directory)),
  };
}

function attached(part: ContentPart, place: string, directory: string): ContentPart {
  if (part.type !== 'local_image') return part;
  const path = resolve(directory, part.path.replace(/^~(?=\/|$)/, homedir()));
  const found = imageDigest(path);
  const problem = 'problem' in found ? found.problem : otherThan(part.sha256, found.sha256);
  if (!('problem' in found) && problem === undefined) return { ...part, path, ...found };
  throw new CadreError('invalid_arguments', `${place}: the local_image ${path}: ${problem}.`, {
    hint: 'Name an image that exists; name other files in the text, for the agent to read.',
  });
}

function otherThan(meant: string | undefined, sha256: string): string | undefined {
  return meant === undefined || meant === sha256 ? undefined : `its sha256 is ${sha256}`;
}
