import { open } from 'node:fs/promises';

/** Lines are written together up to so many characters. */
const CHUNK = 256 * 1024;

/** Writes a new file that only its owner may read, which is on the disk when this returns. */
export async function writeDraft(path: string, lines: AsyncIterable<string>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let chunk = '';
    for await (const line of lines) {
      chunk += `${line}\n`;
      if (chunk.length < CHUNK) continue;
      await file.appendFile(chunk);
      chunk = '';
    }
    await file.appendFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
