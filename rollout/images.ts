import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Item } from '../protocol/index.ts';

/** Larger ones no model is shown. */
const IMAGE_BYTES = 10 * 1024 * 1024;

interface Image {
  path: string;
  sha256: string;
}

/**
 * The image files that a message names, by digest, as far as they are at hand. An image that was given as a data:
 * address stands in the item itself.
 */
export async function imagesOf(item: Item, directory: string): Promise<{ images?: Image[] }> {
  if (item.type !== 'user_message') return {};
  const images: Image[] = [];
  for (const part of item.content) {
    if (part.type !== 'local_image' || part.sha256 !== undefined) continue;
    const sha256 = await digestOf(resolve(directory, part.path.replace(/^~(?=\/|$)/, homedir())));
    if (sha256 !== undefined) images.push({ path: part.path, sha256 });
  }
  return images.length === 0 ? {} : { images };
}

async function digestOf(path: string): Promise<string | undefined> {
  // Not blocking: a pipe without a writer would hold up everything.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  try {
    const found = await file?.stat();
    if (found?.isFile() !== true || found.size > IMAGE_BYTES) return undefined;
    return createHash('sha256')
      .update((await file?.readFile()) ?? '')
      .digest('hex');
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
