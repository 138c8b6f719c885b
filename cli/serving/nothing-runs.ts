import { CadreError, type SessionId } from '../../protocol/index.ts';
import type { Workplace } from '../workplace.ts';

/**
 * Whether nothing of a session runs any more. A root that was ended from outside has closed nobody: what is left below
 * it needs a worker to close.
 *
 * @throws CadreError `agent_not_found` when the server does not know its root, and lists nothing below it
 */
export function nothingRuns(place: Workplace, session: SessionId): Promise<boolean> {
  return place.link.reach(async (client) => {
    const root = await client
      .get(session)
      .describe()
      .catch((error: unknown) => {
        if (error instanceof CadreError && error.code === 'agent_not_found') return error;
        throw error;
      });
    if (!(root instanceof CadreError) && !root.closed) return false;
    if ((await client.list({ session, limit: 1 })).length > 0) return false;
    if (root instanceof CadreError) throw root;
    return true;
  });
}
