import { randomUUID } from 'node:crypto';
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { z } from 'zod';

/** What a JSON file says; undefined where there is none, or none that makes sense. */
export async function readWhole<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  try {
    const parsed = schema.safeParse(JSON.parse(await readFile(path, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** Written whole or not at all. */
export function writeWhole(path: string, value: object): Promise<void> {
  return putWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** The same for any content; with a mode, whatever the umask is. */
export async function putWhole(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, content);
    if (mode !== undefined) await chmod(draft, mode);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
