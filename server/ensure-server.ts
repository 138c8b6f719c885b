import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../protocol/index.ts';
import { ensureFolder, unwritable } from './home.ts';
import { prepareNamespace } from './namespace.ts';
import { lockHolder, ProcessLock } from './process-lock.ts';
import { liveRecord, lives, type ServerRecord } from './record.ts';
import { type RunningServer, runningServer, silent } from './running.ts';
import { publish, type StartOptions, startServer } from './start.ts';

export interface EnsureOptions extends StartOptions {
  /** CADRE_HOME. */
  home: string;
  /** How long a server that runs may take to answer; default 20 s. */
  answerMs?: number;
}

const ANSWER_MS = 20_000;
/** Who starts the server may have to bring it first, over a slow line. */
const WAIT_MS = 660_000;
const TELL_MS = 2_000;
const POLL_MS = 25;
const DEATH_POLL_MS = 250;

/**
 * The embedded server of this CADRE_HOME: shared when it runs, started when it does not. It runs on in the
 * background; its state outlives every process.
 *
 * @throws CadreError `home_unwritable`, or `server_unavailable` when there is no program, it does not start, or it
 * runs and does not answer
 */
export async function ensureServer(options: EnsureOptions): Promise<ServerRecord> {
  const running = await liveRecord(options.home);
  if (running !== undefined) return running;
  const home = realpathSync(ensureFolder(options.home));
  const path = join(home, 'server.lock');
  const begun = Date.now();
  for (let told = false; ; await sleep(POLL_MS)) {
    const lock = await ProcessLock.acquire(path).catch((error: unknown) => {
      throw unwritable(home, error);
    });
    if (lock !== undefined) {
      try {
        return (await liveRecord(home)) ?? (await adopt(home, options)) ?? (await startServer(home, options));
      } finally {
        await lock.release();
      }
    }
    const started = await liveRecord(home);
    if (started !== undefined) return started;
    const waited = Date.now() - begun;
    const holder = (await lockHolder(path))?.pid;
    if (waited > WAIT_MS) throw stuck(path, holder);
    if (waited > TELL_MS && !told && holder !== undefined) {
      told = true;
      options.onProgress?.(
        `Waiting for another command (process ${holder}) that starts the Temporal server …`,
      );
    }
  }
}

/** Takes up a server that runs already, though its record does not say so or it did not answer at once. */
async function adopt(home: string, options: EnsureOptions): Promise<ServerRecord | undefined> {
  const server = await runningServer(home);
  if (server === undefined) return undefined;
  const settled = new AbortController();
  try {
    const version = await Promise.race([
      prepareNamespace(server.address, options.answerMs ?? ANSWER_MS, settled.signal),
      death(server, settled.signal),
    ]);
    return version === 'dead' ? undefined : await publish(home, { ...server, version });
  } catch (error) {
    throw error instanceof CadreError ? error : silent(server, error);
  } finally {
    settled.abort();
  }
}

async function death(server: RunningServer, signal: AbortSignal): Promise<'dead'> {
  while (!signal.aborted && (await lives(server))) await sleep(DEATH_POLL_MS);
  return 'dead';
}

function stuck(path: string, holder: number | undefined): CadreError {
  const who = holder === undefined ? 'Another command' : `Another command (process ${holder})`;
  return new CadreError(
    'server_unavailable',
    `${who} has been starting the Temporal server for 11 minutes.`,
    {
      hint: `If it does nothing any more, end it; it holds ${path}.`,
      retryable: true,
    },
  );
}
