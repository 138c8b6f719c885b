import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing } from '../../client/is-missing.ts';
import type { SessionResult } from '../../client/types.ts';
import { CadreError, type SessionId } from '../../protocol/index.ts';
import type { Serving } from '../serving/serving.ts';
import type { Workplace } from '../workplace.ts';

/**
 * The result of a session, once it has ended; also when the server was away meanwhile.
 *
 * @param serving what works for it in this process; undefined for a queued session: its own workers do
 * @throws CadreError `ended_from_outside`, or why nobody can work for it here
 */
export function sessionEnd(
  place: Workplace,
  session: SessionId,
  serving: Serving | undefined,
): Promise<SessionResult> {
  const end = ended(place, session).catch(async (error: unknown) => {
    // The workers of a queue look for such themselves.
    if (serving !== undefined) await closeWhatIsLeft(place, session);
    throw error;
  });
  return serving === undefined ? end : Promise.race([end, serving.failed]);
}

async function ended(place: Workplace, session: SessionId): Promise<SessionResult> {
  for (;;) {
    try {
      return await place.link.reach((client) => client.get(session).result());
    } catch (error) {
      if (!(error instanceof CadreError) || error.code !== 'temporal_unreachable') throw error;
      await sleep(1_000);
    }
  }
}

/** A root that was ended from outside has closed nobody, and when this process has gone nobody works for the rest. */
async function closeWhatIsLeft(place: Workplace, session: SessionId): Promise<void> {
  const closing = place.link.reach(async (client) => {
    const root = client.get(session);
    const isRunning = await root.describe().then(
      ({ closed }) => !closed,
      (error: unknown) => !isMissing(error),
    );
    if (!isRunning) await root.close();
  });
  await closing.catch(() => {});
}
