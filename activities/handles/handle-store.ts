import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { handleName, handlePath, handlesFolder } from '../../rollout/handle-files.ts';
import { systemReason } from '../system-reason.ts';

/** What is stored: a text, bytes, or a file that is left where it is. */
export type Storable = { text: string } | { bytes: Uint8Array } | { file: string };

/**
 * Keeps what is too large for a conversation, an output or an image, readable for its owner alone.
 *
 * @returns its handle
 * @throws the error of the file system when the folder is full or cannot be written
 */
export async function storeOutput(stateDir: string, content: Storable): Promise<string> {
  const draft = await createDraft(stateDir);
  try {
    const hash = createHash('sha256');
    if ('file' in content) {
      await copyFile(content.file, draft);
      await pipeline(createReadStream(draft), hash);
    } else {
      const data = 'text' in content ? content.text : content.bytes;
      hash.update(data);
      const file = await open(draft, 'w', 0o600);
      await file.writeFile(data).finally(() => file.close());
    }
    return await keepDraft(stateDir, draft, hash.digest('hex'));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The same for a text whose place a cut takes, whether it could be kept or not. */
export function storeText(stateDir: string, text: string): Promise<{ handle: string } | { problem: string }> {
  return storeOutput(stateDir, { text }).then(
    (handle) => ({ handle }),
    (error: unknown) => ({ problem: `it ${systemReason(error, 'written')}` }),
  );
}

/** An empty private file beside the stored ones, to be filled and then kept. */
export async function createDraft(stateDir: string): Promise<string> {
  const folder = handlesFolder(stateDir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `.draft-${randomUUID()}`);
  await (await open(draft, 'wx', 0o600)).close();
  return draft;
}

/** Gives a filled draft its name, in one step: a handle never names half a payload. */
export async function keepDraft(stateDir: string, draft: string, sha256Hex: string): Promise<string> {
  const handle = handleName(sha256Hex);
  const path = handlePath(stateDir, handle) as string;
  if (await isStored(path)) {
    await rm(draft, { force: true });
    return handle;
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rename(draft, path);
  return handle;
}

async function isStored(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
