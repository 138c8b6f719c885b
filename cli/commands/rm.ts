import { type AgentId, sessionOf } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { isMissing } from '../is-missing.ts';
import { atAgent } from '../workplace.ts';

/** Removes a closed session from Temporal, and what this machine keeps of it, its rollout included. */
export default function rm(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const removed = await place.link
      .reach((client) => client.remove(id))
      .catch((error: unknown): AgentId[] => {
        // Temporal may have forgotten it long ago.
        if (isMissing(error) && place.rollouts.pathOf(sessionOf(id)) !== undefined) return [];
        throw error;
      });
    await place.files.remove(id);
    const rollout = await place.rollouts.remove(id);
    const what = removed.length === 0 ? `the rollout of ${id}` : removed.join(', ');
    invocation.output.result({ removed, rollout }, `removed ${what}`);
    return EXIT.done;
  });
}
