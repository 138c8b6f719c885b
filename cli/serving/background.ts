import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/errors.ts';
import type { SessionId } from '../../protocol/ids.ts';
import { lockHolder } from '../../server/process-lock.ts';
import type { Workplace } from '../workplace.ts';
import { startDetached } from './detached.ts';
import type { Serving } from './serving.ts';
import type { SessionFiles } from './session-files.ts';

const STARTS_WITHIN_MS = 30_000;
const LOG_SHOWN = 2_000;

export interface BackgroundWorker {
  pid: number;
  /** Resolves when it, or another one, works for the session; rejects with the end of its log when it cannot. */
  serving(): Promise<void>;
}

/**
 * Starts a process of its own that works for one session until the session is closed. It outlives this one, and
 * waits for the session's lock where this one still has it.
 *
 * @param options common options of the command line that it needs, too: address, profile, overrides
 */
export function startBackgroundWorker(
  session: SessionId,
  files: SessionFiles,
  options: readonly string[],
): BackgroundWorker {
  const log = files.logPath(session);
  const child = startDetached(['worker', '--session', session, ...options], { path: log, flags: 'a' });
  let ended: string | undefined;
  child.on('error', (error) => {
    ended = error.message;
  });
  child.on('exit', (code, signal) => {
    ended ??= `it ended with ${signal ?? code}`;
  });
  return {
    pid: child.pid ?? 0,
    async serving() {
      const end = Date.now() + STARTS_WITHIN_MS;
      while (Date.now() < end && ended === undefined) {
        const holder = await lockHolder(files.lockPath(session));
        // Whoever it is: `cadre worker` may have been quicker, and the new process waits behind it.
        if (holder !== undefined && holder.pid !== process.pid) return;
        await sleep(50);
      }
      throw new CadreError(
        'no_worker',
        `The background worker of ${session} does not work: ${ended ?? 'it did not start in time'}. ${endOf(log)}`.trim(),
        { hint: `Its log is ${log}. \`cadre attach ${session}\` works for the session in the foreground.` },
      );
    },
  };
}

/** Leaves a session that this process works for to a worker in the background, which is there before it is let go. */
export async function goOnInBackground(
  place: Pick<Workplace, 'files'>,
  session: SessionId,
  serving: Pick<Serving, 'stop'>,
  options: readonly string[],
): Promise<void> {
  const worker = startBackgroundWorker(session, place.files, options);
  await serving.stop();
  await worker.serving();
}

function endOf(log: string): string {
  try {
    return readFileSync(log, 'utf8').slice(-LOG_SHOWN).trim();
  } catch {
    return '';
  }
}
