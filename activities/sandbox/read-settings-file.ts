import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** What git keeps in such files is far shorter. */
const MOST_BYTES = 1024 * 1024;

/**
 * Reads a small file that a command may have put there. Of a pipe in its place opening would wait for a writer, and with it
 * the whole worker.
 *
 * @throws where it is no ordinary file, cannot be read, or has more than 1 MiB
 */
export function readSettingsFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error(`${path} is no ordinary file`);
    if (stats.size > MOST_BYTES) throw new Error(`${path} has ${stats.size} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
