import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError, type SessionId } from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import { localQueue, type Workplace } from '../workplace.ts';
import { Serving } from './serving.ts';
import type { SessionRecord } from './session-files.ts';

const LOOK_MS = 1_000;
const STARTS_WITHIN_MS = 60_000;

/** Works for every open local session that nobody else works for, and for those that come. */
export async function serveAllSessions(
  { output }: Invocation,
  place: Workplace,
  signal: AbortSignal,
): Promise<void> {
  const serving = new Map<SessionId, Serving>();
  const closed = new Set<SessionId>();
  await place.files.prepare();
  // With no session to be seen yet, a namespace that does not exist would never be noticed.
  await place.link.reach((client) => client.list({ limit: 1 }));
  output.info('Working for all local sessions; Ctrl-C stops it.');
  while (!signal.aborted) {
    for (const record of await place.files.all()) {
      const { session_id: id, queue } = record;
      if (closed.has(id) || queue !== localQueue(id)) continue;
      if (await isClosed(place, record)) {
        closed.add(id);
        await serving.get(id)?.stop();
        serving.delete(id);
      } else if (!serving.has(id)) {
        output.debug(`session ${id} is open`);
        const one = new Serving(place.session(id), 'act', place.surroundings);
        one.failed.catch((error: unknown) => {
          output.warn(
            `session ${id} cannot be worked for: ${error instanceof Error ? error.message : error}`,
          );
          closed.add(id);
          serving.delete(id);
        });
        serving.set(id, one);
      }
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
  await Promise.all([...serving.values()].map((one) => one.stop()));
}

/** One that is not there may be about to start: its record is written first. */
async function isClosed(place: Workplace, { session_id: id, started_at }: SessionRecord): Promise<boolean> {
  try {
    return (await place.link.reach((client) => client.get(id).describe())).closed;
  } catch (error) {
    const isMissing = error instanceof CadreError && error.code === 'agent_not_found';
    return isMissing && !(Date.now() - Date.parse(started_at) < STARTS_WITHIN_MS);
  }
}
