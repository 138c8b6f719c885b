import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { processStart } from './process-identity.ts';
import { endsWithin, lives } from './record.ts';
import { readWhole, writeWhole } from './whole-file.ts';

/** The codec server beside an embedded server: a process of its own, which has its keys from whoever started it. */
const codecServerRecordSchema = z.object({
  url: z.string(),
  /** Base URL of the Web UI that it serves. */
  ui: z.string(),
  pid: z.int().positive(),
  started: z.string(),
  /** Ids of the keys that it has. */
  keys: z.array(z.string()),
  /** What tells those keys from others of the same ids. */
  fingerprints: z.array(z.string()).default([]),
});
export type CodecServerRecord = z.infer<typeof codecServerRecordSchema>;

const END_MS = 5_000;

export function codecLockPath(home: string): string {
  return join(home, 'codec-server.lock');
}

/** The one that runs for this CADRE_HOME; undefined when none does. */
export async function runningCodecServer(home: string): Promise<CodecServerRecord | undefined> {
  const record = await readRecord(home);
  return record !== undefined && (await lives(record)) ? record : undefined;
}

/**
 * Whether it serves that server's Web UI, and has all of these keys.
 *
 * @param fingerprints those of the keys
 */
export function serves(
  record: CodecServerRecord,
  server: { ui: string; codec?: string | undefined },
  fingerprints: readonly string[],
): boolean {
  return (
    record.url === server.codec &&
    record.ui === server.ui &&
    fingerprints.every((each) => record.fingerprints.includes(each))
  );
}

/** To be called by the codec server itself, once it serves. */
export async function recordCodecServer(
  home: string,
  record: Omit<CodecServerRecord, 'pid' | 'started'>,
): Promise<void> {
  const started = (await processStart(process.pid)) ?? 'unknown';
  await writeWhole(recordPath(home), { ...record, pid: process.pid, started });
}

/** To be called by the codec server itself, at its end. */
export async function forgetCodecServer(home: string): Promise<void> {
  if ((await readRecord(home))?.pid === process.pid) await rm(recordPath(home), { force: true });
}

/** Ends the one that runs for this CADRE_HOME; only ever the process that has recorded itself. */
export async function stopCodecServer(home: string): Promise<void> {
  const running = await runningCodecServer(home);
  if (running === undefined) return;
  for (const name of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(running.pid, name);
    } catch {
      // It has ended meanwhile.
    }
    if (await endsWithin(running, END_MS)) return;
  }
}

function readRecord(home: string): Promise<CodecServerRecord | undefined> {
  return readWhole(recordPath(home), codecServerRecordSchema);
}

function recordPath(home: string): string {
  return join(home, 'codec-server.json');
}
