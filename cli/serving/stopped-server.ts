import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * `cadre server stop` leaves a mark beside the server's record. Workers in the background bring a server back that
 * has died, but not one that a person has stopped; the next command that needs it does, and its record is newer.
 */
export async function markStopped(home: string): Promise<void> {
  await writeFile(markPath(home), '').catch(() => {});
}

/** Whether the server was stopped by a person since it was started. */
export async function isStoppedOnPurpose(home: string): Promise<boolean> {
  const [mark, record] = await Promise.all([timeOf(markPath(home)), timeOf(join(home, 'server.json'))]);
  return mark !== undefined && (record === undefined || mark >= record);
}

function markPath(home: string): string {
  return join(home, 'server.stopped');
}

async function timeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs;
}
