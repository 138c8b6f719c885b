import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing } from '../../client/is-missing.ts';
import { localQueue, type SessionId } from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import type { Workplace } from '../workplace.ts';
import { nothingRuns } from './nothing-runs.ts';
import { Serving } from './serving.ts';
import type { SessionRecord } from './session-files.ts';

const LOOK_MS = 1_000;
const STARTS_WITHIN_MS = 60_000;
/** A closed session may be resumed: all of them are looked at again, the more there are the less often. */
const AGAIN_MS = 10_000;
const AGAIN_EACH_MS = 100;

/** Works for every open local session that nobody else works for, and for those that come. */
export async function serveAllSessions(
  { output }: Invocation,
  place: Workplace,
  signal: AbortSignal,
): Promise<void> {
  const serving = new Map<SessionId, Serving>();
  /** When each was seen closed. */
  const closed = new Map<SessionId, number>();
  const givenUp = new Set<SessionId>();
  await place.files.prepare();
  // With no session to be seen yet, a namespace that does not exist would never be noticed.
  await place.link.reach((client) => client.list({ limit: 1 }));
  output.info('Working for all local sessions; Ctrl-C stops it.');
  while (!signal.aborted) {
    for (const record of await place.files.all()) {
      const { session_id: id, queue } = record;
      if (givenUp.has(id) || queue !== localQueue(id)) continue;
      const again = (closed.get(id) ?? 0) + Math.max(AGAIN_MS, closed.size * AGAIN_EACH_MS);
      if (closed.has(id) && Date.now() < again) continue;
      if (await isClosed(place, record)) {
        closed.set(id, Date.now());
        await serving.get(id)?.stop();
        serving.delete(id);
        continue;
      }
      closed.delete(id);
      if (!serving.has(id)) {
        output.debug(`session ${id} is open`);
        const one = new Serving(place.session(id), 'act', place.surroundings);
        one.failed.catch((error: unknown) => {
          output.warn(
            `session ${id} cannot be worked for: ${error instanceof Error ? error.message : error}`,
          );
          givenUp.add(id);
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
    return await nothingRuns(place, id);
  } catch (error) {
    return isMissing(error) && !(Date.now() - Date.parse(started_at) < STARTS_WITHIN_MS);
  }
}
