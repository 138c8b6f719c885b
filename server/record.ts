import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { z } from 'zod';
import { processStart } from './process-identity.ts';

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

/** Written whole or not at all. It outlives its server, for the sake of its ports. */
export function writeRecord(home: string, record: ServerRecord): Promise<void> {
  return writeWhole(recordPath(home), record);
}

export async function writeWhole(path: string, value: object): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(value, null, 2)}\n`);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
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
