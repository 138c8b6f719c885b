import { setTimeout as sleep } from 'node:timers/promises';
import { isOurs, liveRecord, readRecord, removeRecord, type ServerRecord } from './record.ts';

const END_MS = 10_000;
const POLL_MS = 50;

/** The embedded server that runs for this CADRE_HOME; undefined when none does. */
export function serverStatus(home: string): Promise<ServerRecord | undefined> {
  return liveRecord(home);
}

/**
 * Stops the embedded server of this CADRE_HOME; its state stays. Only ever ends the process that was started for it.
 *
 * @returns whether one ran
 */
export async function stopServer(home: string): Promise<boolean> {
  const record = await readRecord(home);
  if (record === undefined || !(await isOurs(record))) {
    await removeRecord(home);
    return false;
  }
  signal(record.pid, 'SIGTERM');
  for (const end = Date.now() + END_MS; await isOurs(record); await sleep(POLL_MS)) {
    if (Date.now() >= end) signal(record.pid, 'SIGKILL');
  }
  // The record stays for its ports; it is stale from now on.
  return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile.
  }
}
