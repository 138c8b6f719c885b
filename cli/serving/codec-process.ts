import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KeyRing, keyIds } from '../../protocol/index.ts';
import {
  type CodecServerRecord,
  codecLockPath,
  forgetCodecServer,
  recordCodecServer,
  runningCodecServer,
  serves,
  stopCodecServer,
} from '../../server/codec-process.ts';
import { keyFingerprints } from '../../server/key-fingerprints.ts';
import { ProcessLock } from '../../server/process-lock.ts';
import { liveRecord, lives, readRecord, type ServerRecord } from '../../server/record.ts';
import type { Config } from '../config/schema.ts';
import { startDetached } from './detached.ts';

/** The hidden option that tells the two kinds of codec server apart. */
const BESIDE = '--beside';

const LOOK_MS = 1_000;
const START_MS = 15_000;
/** A server that was killed is started again by the next command, and meets its codec server again. */
const ALONE_MS = 10_000;
const TURN_MS = 50;

export interface Encryption {
  keys: KeyRing | undefined;
  /** Where the keys come from. */
  config: Config['encryption'];
}

/**
 * Sees to it that a codec server runs beside the embedded server and has this command's keys; it is not waited for.
 * One that lacks a key, as a command without keys has started it, or that has another one of the same id, gives way to
 * one that has it.
 */
export async function ensureCodecServer(
  home: string,
  server: ServerRecord,
  { keys, config }: Encryption,
): Promise<void> {
  if (server.codec === undefined) return;
  const running = await runningCodecServer(home);
  if (running !== undefined && serves(running, server, keyFingerprints(keys))) return;
  // Not in the folder of whoever types the command, nor with what stands in its repository.
  const options = Object.entries(config ?? {}).flatMap(([name, value]) => [
    '-c',
    `encryption.${name}=${JSON.stringify(value)}`,
  ]);
  try {
    const log = { path: join(home, 'codec-server.log'), flags: 'w' } as const;
    startDetached(['codec-server', BESIDE, ...options], log, home).on('error', () => {});
  } catch {
    // Without it everything works but what others than Cadre show.
  }
}

/** The codec server of a server that has just been started: it takes a moment to come. */
export async function codecServerOf(
  home: string,
  server: ServerRecord,
  keys: KeyRing | undefined,
): Promise<CodecServerRecord | undefined> {
  const fingerprints = keyFingerprints(keys);
  for (const end = Date.now() + START_MS; server.codec !== undefined; await sleep(TURN_MS)) {
    const running = await runningCodecServer(home);
    if (running !== undefined && serves(running, server, fingerprints)) return running;
    if (Date.now() > end) return undefined;
  }
  return undefined;
}

/** Serves beside the embedded server of a CADRE_HOME, until that is gone or the signal comes. */
export async function serveBeside(
  home: string,
  keys: KeyRing | undefined,
  signal: AbortSignal,
): Promise<void> {
  const place = await takePlace(home, keyFingerprints(keys), signal);
  if (place === undefined) return;
  const { lock, server } = place;
  const { startCodecServer } = await import('../../codec/codec-server.ts');
  const port = Number(new URL(server.codec).port);
  try {
    const served = await startCodecServer({ keys, port, origins: originsOf(server.ui) });
    const has = { keys: keyIds(keys), fingerprints: keyFingerprints(keys) };
    await recordCodecServer(home, { url: served.url, ui: server.ui, ...has });
    await untilAlone(home, server, signal);
    await forgetCodecServer(home);
    await served.close();
  } finally {
    await lock.release();
  }
}

/** A page is known by its address as it was typed. */
export function originsOf(ui: string): string[] {
  const { origin, port, hostname } = new URL(ui);
  return hostname === '127.0.0.1' ? [origin, `http://localhost:${port}`] : [origin];
}

type Watched = ServerRecord & { codec: string };

/** Undefined where there is no server, or one beside it that has all that this one has. */
async function takePlace(
  home: string,
  fingerprints: readonly string[],
  signal: AbortSignal,
): Promise<{ lock: ProcessLock; server: Watched } | undefined> {
  for (const end = Date.now() + START_MS; Date.now() < end && !signal.aborted; await sleep(TURN_MS)) {
    const server = await liveRecord(home);
    if (!isWatched(server)) return undefined;
    const running = await runningCodecServer(home);
    if (running !== undefined && serves(running, server, fingerprints)) return undefined;
    const lock = await ProcessLock.acquire(codecLockPath(home));
    if (lock !== undefined) return { lock, server };
    await stopCodecServer(home);
  }
  return undefined;
}

async function untilAlone(home: string, served: Watched, signal: AbortSignal): Promise<void> {
  let seen = Date.now();
  while (!signal.aborted && Date.now() - seen < ALONE_MS) {
    const server = await readRecord(home);
    if (server !== undefined && (await lives(server))) {
      // One that was started anew with other addresses gets a codec server of its own.
      if (server.codec !== served.codec || server.ui !== served.ui) return;
      seen = Date.now();
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

function isWatched(server: ServerRecord | undefined): server is Watched {
  return server?.codec !== undefined;
}
