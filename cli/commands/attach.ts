import { sessionOf } from '../../protocol/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { follow, report } from '../follow/follow.ts';
import type { Invocation } from '../invocation.ts';
import { Serving } from '../serving/serving.ts';
import { workerOptionsOf } from '../worker-options.ts';
import { agentIdOf, atWorkplace, localQueue } from '../workplace.ts';

/** Follows a session again, and works for it if it is local and nobody does. */
export default function attach(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  const startedAt = Date.now();
  const session = sessionOf(agentIdOf(reference));
  return atWorkplace(invocation, async (place) => {
    const { queue } = await place.link.reach((client) => client.get(session).describe());
    await place.files.prepare();
    const isLocal = queue === localQueue(session);
    const serving = isLocal ? new Serving(place.session(session), 'act', place.surroundings) : undefined;
    try {
      const workerOptions = workerOptionsOf(invocation.options);
      const followed = await follow(invocation, place, { session, serving, workerOptions });
      return report(invocation, session, followed, startedAt);
    } finally {
      await serving?.stop();
    }
  });
}
