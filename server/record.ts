import { connect } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { processStart } from './process-identity.ts';
import { readWhole, writeWhole } from './whole-file.ts';

/** The embedded server of one CADRE_HOME, as `server.json` records it once it is ready for use. */
const serverRecordSchema = z.object({
  /** host:port of the gRPC service. */
  address: z.string().refine((address) => URL.canParse(`http://${address}`)),
  /** Base URL of the Web UI. */
  ui: z.string(),
  /** Where the Web UI asks for what payloads hold; absent where whoever started it starts no codec server. */
  codec: z.string().optional(),
  pid: z.int().positive(),
  /** Of the server inside the program. */
  version: z.string(),
  /** Start of that process: a pid alone may belong to another one by now. */
  started: z.string(),
});
export type ServerRecord = z.infer<typeof serverRecordSchema>;

const PROBE_MS = 2_000;
const POLL_MS = 50;

export function recordPath(home: string): string {
  return join(home, 'server.json');
}

export function readRecord(home: string): Promise<ServerRecord | undefined> {
  return readWhole(recordPath(home), serverRecordSchema);
}

/** It outlives its server, for the sake of its ports. */
export function writeRecord(home: string, record: ServerRecord): Promise<void> {
  return writeWhole(recordPath(home), record);
}

/** The record of a server that is ours, lives, and answers on its port; undefined for a stale one. */
export async function liveRecord(home: string): Promise<ServerRecord | undefined> {
  const record = await readRecord(home);
  if (record === undefined || !(await lives(record))) return undefined;
  return (await answers(record.address)) ? record : undefined;
}

/** Whether the process that the record names still is the one that was started. */
export async function lives(server: Pick<ServerRecord, 'pid' | 'started'>): Promise<boolean> {
  return (await processStart(server.pid)) === server.started;
}

/** Waits until that process has ended; false when the time was up first. */
export async function endsWithin(
  server: Pick<ServerRecord, 'pid' | 'started'>,
  withinMs: number,
): Promise<boolean> {
  for (const end = Date.now() + withinMs; await lives(server); await sleep(POLL_MS)) {
    if (Date.now() >= end) return false;
  }
  return true;
}

/**
 * Whether an HTTP/2 server greets there. To be let in is not enough: the system does that on behalf of a process
 * that hangs.
 */
export function answers(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://${address}`);
    const end = (greeted: boolean) => {
      clearTimeout(timer);
      session.destroy();
      resolve(greeted);
    };
    const timer = setTimeout(end, PROBE_MS, false);
    session.once('remoteSettings', () => end(true));
    session.on('error', () => end(false));
    session.once('close', () => end(false));
  });
}
