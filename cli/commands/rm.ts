import { isMissing } from '../../client/is-missing.ts';
import { type AgentId, sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

/** Removes a closed session from Temporal, and what this machine keeps of it, its rollout included. */
export default function rm(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const removed = await place.link
      .reach((client) => client.remove(id))
      .catch(async (error: unknown): Promise<AgentId[]> => {
        // Somebody else, or retention, was quicker: what is left is here.
        const isHere = (await place.knows(id)) || place.rollouts.pathOf(sessionOf(id)) !== undefined;
        if (isMissing(error) && isHere) return [];
        throw error;
      });
    await place.files.remove(id);
    const rollout = await place.rollouts.remove(id);
    const what = removed.length === 0 ? `what was left of ${id} here` : removed.join(', ');
    invocation.output.result({ removed, rollout }, `removed ${what}`);
    return EXIT.done;
  });
}
