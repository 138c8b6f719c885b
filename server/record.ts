import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { processStart } from './process-identity.ts';

/** The embedded server of one CADRE_HOME, as `server.json` records it. */
export const serverRecordSchema = z.object({
  /** host:port of the gRPC service. */
  address: z.string(),
  /** Base URL of the Web UI. */
  ui: z.string(),
  pid: z.int().positive(),
  /** Of the server inside the program. */
  version: z.string(),
  /** Start of that process: a pid alone may belong to another one by now. */
  started: z.string(),
});
export type ServerRecord = z.infer<typeof serverRecordSchema>;

const PROBE_MS = 2_000;

export function recordPath(home: string): string {
  return join(home, 'server.json');
}

/** What the file says; undefined where there is none, or none that makes sense. */
export async function readRecord(home: string): Promise<ServerRecord | undefined> {
  try {
    const parsed = serverRecordSchema.safeParse(JSON.parse(await readFile(recordPath(home), 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** Written whole or not at all. */
export async function writeRecord(home: string, record: ServerRecord): Promise<void> {
  const draft = `${recordPath(home)}.${randomUUID()}`;
  await writeFile(draft, `${JSON.stringify(record, null, 2)}\n`);
  await rename(draft, recordPath(home));
}

export async function removeRecord(home: string): Promise<void> {
  await rm(recordPath(home), { force: true });
}

/** The record of a server that is ours, lives, and answers on its port; undefined for a stale one. */
export async function liveRecord(home: string): Promise<ServerRecord | undefined> {
  const record = await readRecord(home);
  if (record === undefined || !(await isOurs(record))) return undefined;
  return (await answers(record.address)) ? record : undefined;
}

/** Whether the process that the record names still is the one that was started. */
export async function isOurs(record: ServerRecord): Promise<boolean> {
  return (await processStart(record.pid)) === record.started;
}

/** Whether something accepts connections there. */
export function answers(address: string): Promise<boolean> {
  const cut = address.lastIndexOf(':');
  return new Promise((resolve) => {
    const socket = connect({ host: address.slice(0, cut), port: Number(address.slice(cut + 1)) });
    const end = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(PROBE_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
