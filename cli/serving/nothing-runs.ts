import { isMissing } from '../../client/is-missing.ts';
import type { SessionId } from '../../protocol/index.ts';
import type { Workplace } from '../workplace.ts';

/**
 * Whether nothing of a session runs any more. A root that was ended from outside has closed nobody: what is left below
 * it needs a worker to close.
 *
 * @throws CadreError `agent_not_found` when the server does not know its root, and lists nothing below it
 */
export function nothingRuns(place: Workplace, session: SessionId): Promise<boolean> {
  return place.link.reach(async (client) => {
    const describing = client.get(session).describe();
    const isOpen = await describing.then(
      ({ closed }) => !closed,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );
    if (isOpen || (await client.list({ session, limit: 1 })).length > 0) return false;
    await describing;
    return true;
  });
}
