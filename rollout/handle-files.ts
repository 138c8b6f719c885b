import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RolloutOutput } from '../protocol/index.ts';

/** Where outputs lie that are too long for a conversation, and by which names. */

const HANDLE = /^h_([0-9a-f]{2})[0-9a-f]{30}$/;

/** The name of a payload: made of its content, so that the same output is stored once. */
export function handleName(sha256Hex: string): string {
  return `h_${sha256Hex.slice(0, 32)}`;
}

export function handlesFolder(stateDir: string): string {
  return join(stateDir, 'handles');
}

/** Where the payload of a handle lies; undefined for what is no handle. */
export function handlePath(stateDir: string, handle: string): string | undefined {
  const match = HANDLE.exec(handle);
  return match === null ? undefined : join(handlesFolder(stateDir), match[1] as string, handle);
}

/** All handles that a text names. */
export function handlesIn(text: string): string[] {
  return text.match(/\bh_[0-9a-f]{32}\b/g) ?? [];
}

/** One output that a rollout holds may have so many bytes, and all of them together. */
const OUTPUT_BYTES = 4 * 1024 * 1024;
const OUTPUTS_BYTES = 32 * 1024 * 1024;

/** The outputs that handles name, for a rollout: as far as they are at hand, and fit in. */
export async function* outputLines(
  stateDir: string,
  handles: Iterable<string>,
): AsyncGenerator<RolloutOutput> {
  let left = OUTPUTS_BYTES;
  for (const handle of handles) {
    const path = handlePath(stateDir, handle) ?? '';
    const size = await stat(path).then(
      (found) => (found.isFile() ? found.size : undefined),
      () => undefined,
    );
    const reason = size === undefined ? 'it is not at hand' : leftOut(size, left);
    if (reason !== undefined) {
      yield { type: 'output', handle, left_out: reason };
      continue;
    }
    const bytes = await readFile(path);
    if (!isHandleOf(handle, bytes)) {
      yield { type: 'output', handle, left_out: 'its file holds something else' };
      continue;
    }
    left -= bytes.length;
    const text = bytes.toString('utf8');
    yield Buffer.from(text).equals(bytes)
      ? { type: 'output', handle, text }
      : { type: 'output', handle, base64: bytes.toString('base64') };
  }
}

function leftOut(size: number, left: number): string | undefined {
  if (size > OUTPUT_BYTES)
    return `it has ${size} bytes, more than the ${OUTPUT_BYTES} that an output may have here`;
  if (size > left) return `the outputs have more than ${OUTPUTS_BYTES} bytes together`;
  return undefined;
}

/** Keeps an output that a rollout has brought where tools look for it, whole or not at all. */
export async function keepOutput(stateDir: string, line: RolloutOutput): Promise<void> {
  const content = contentOf(line);
  const path = handlePath(stateDir, line.handle);
  if (content === undefined || path === undefined || existsSync(path)) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = join(handlesFolder(stateDir), `.draft-${randomUUID()}`);
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx' });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

export function contentOf({ text, base64 }: RolloutOutput): Buffer | undefined {
  if (text !== undefined) return Buffer.from(text);
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}

export function isHandleOf(handle: string, content: Uint8Array): boolean {
  return handle === handleName(createHash('sha256').update(content).digest('hex'));
}
