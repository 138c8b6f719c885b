import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { AgentId, ContentPart, Item, RolloutItem } from '../protocol/index.ts';
import { handleName, handlePath } from './handle-files.ts';
import type { Rollout } from './rollout.ts';

/** Larger ones no model is shown. */
const IMAGE_BYTES = 10 * 1024 * 1024;

type LocalImage = Extract<ContentPart, { type: 'local_image' }>;

export interface Image {
  path: string;
  sha256: string;
}

/** An image that a model will not see as it was: its file is gone or has changed, and there is no copy. */
export interface LostImage extends Image {
  agent_id: AgentId;
  problem: string;
}

/**
 * The image files that a message names without their digests, as far as they are at hand, by what they are now. An
 * image that was given as a data: address stands in the item itself.
 */
export async function imagesOf(item: Item, directory: string): Promise<{ images?: Image[] }> {
  const images: Image[] = [];
  for (const part of localImages(item)) {
    if (part.sha256 !== undefined) continue;
    const sha256 = await digestOf(whole(part.path, directory));
    if (sha256 !== undefined) images.push({ path: part.path, sha256 });
  }
  return images.length === 0 ? {} : { images };
}

/** Under these names the images of a message are kept whose digests it has. */
export function imageHandles(item: Item): string[] {
  return localImages(item).flatMap(({ sha256 }) => (sha256 === undefined ? [] : handleName(sha256)));
}

/** Which of the images that a rollout names are not here as they were. */
export async function lostImages(rollout: Rollout, stateDir: string): Promise<LostImage[]> {
  const lost = new Map<string, LostImage>();
  let directory = '';
  for await (const line of rollout.body()) {
    if (line.type === 'agent') directory = line.settings.working_directory;
    if (line.type !== 'item') continue;
    for (const { path, sha256 } of digestsIn(line)) {
      const problem = await problemOf(whole(path, directory), sha256, stateDir);
      if (problem === undefined) continue;
      const key = `${line.agent_id} ${path} ${sha256}`;
      lost.set(key, { agent_id: line.agent_id, path, sha256, problem });
    }
  }
  return [...lost.values()];
}

function digestsIn({ item, images = [] }: RolloutItem): Image[] {
  const noted = localImages(item).flatMap(({ path, sha256 }) =>
    sha256 === undefined ? [] : [{ path, sha256 }],
  );
  return [...noted, ...images];
}

async function problemOf(path: string, sha256: string, stateDir: string): Promise<string | undefined> {
  const kept = handlePath(stateDir, handleName(sha256));
  if (kept !== undefined && (await digestOf(kept)) === sha256) return undefined;
  const found = await digestOf(path);
  if (found === sha256) return undefined;
  return found === undefined ? 'its file is not here' : 'its file has changed';
}

function localImages(item: Item): LocalImage[] {
  // A rollout from elsewhere may name none.
  return partsOf(item)
    .filter((part) => part.type === 'local_image')
    .filter(({ path }) => typeof path === 'string');
}

function partsOf(item: Item): ContentPart[] {
  if (item.type === 'user_message') return item.content;
  return item.type === 'tool_output' && item.image !== undefined
    ? [{ type: 'local_image', ...item.image }]
    : [];
}

function whole(path: string, directory: string): string {
  return resolve(directory, path.replace(/^~(?=\/|$)/, homedir()));
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
