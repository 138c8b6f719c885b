import { CadreError } from '../protocol/index.ts';
import { stopCodecServer } from './codec-process.ts';
import { answers, endsWithin, type ServerRecord } from './record.ts';
import { type RunningServer, runningServer, silent } from './running.ts';

const END_MS = 10_000;
const KILL_MS = 10_000;

/**
 * The embedded server that runs for this CADRE_HOME; undefined when none does.
 *
 * @throws CadreError `server_unavailable` for one that does not answer
 */
export async function serverStatus(home: string): Promise<ServerRecord | undefined> {
  const server = await runningServer(home);
  if (server === undefined) return undefined;
  if (!(await answers(server.address))) throw silent(server);
  return { version: 'unknown', ...server };
}

/**
 * Stops the embedded server of this CADRE_HOME, also one that hangs, and the codec server beside it; its state stays.
 * Only ever ends the processes that were started for it. The record stays too, for its ports; it is stale from then on.
 *
 * @returns whether one ran
 * @throws CadreError `not_permitted` when it is another user's
 */
export async function stopServer(home: string): Promise<boolean> {
  const server = await runningServer(home);
  await stopCodecServer(home);
  if (server === undefined) return false;
  signal(server, 'SIGTERM');
  // One that was stopped by a signal hears no other.
  signal(server, 'SIGCONT');
  if (await endsWithin(server, END_MS)) return true;
  signal(server, 'SIGKILL');
  if (await endsWithin(server, KILL_MS)) return true;
  throw new CadreError('server_unavailable', `The Temporal server (process ${server.pid}) does not end.`, {
    hint: 'Something in the system holds it, as a disk that does not answer does.',
  });
}

function signal(server: RunningServer, name: NodeJS.Signals): void {
  try {
    process.kill(server.pid, name);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Otherwise it ended meanwhile.
    if (code === 'EPERM') {
      throw new CadreError(
        'not_permitted',
        `The Temporal server (process ${server.pid}) is another user's.`,
        {
          hint: 'Stop it as that user, or use a CADRE_HOME of your own.',
        },
      );
    }
  }
}
