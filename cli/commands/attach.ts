import { sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import type { ExitCode } from '../exit-codes.ts';
import { follow } from '../follow/follow.ts';
import { report } from '../follow/report.ts';
import { requireLines } from '../follow/require-lines.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { Serving } from '../serving/serving.ts';
import { workerOptionsOf } from '../worker-options.ts';

/** Follows a session again, and works for it if it is local and nobody does. */
export default function attach(
  invocation: Invocation,
  [reference]: [string],
  { stream = false }: { stream?: boolean },
): Promise<ExitCode> {
  const startedAt = Date.now();
  if (stream) requireLines(invocation.output);
  return atAgent(invocation, reference, async (place, id) => {
    const session = sessionOf(id);
    const { queue } = await place.link.reach((client) => client.get(session).describe());
    const local = await place.localSession(session, queue);
    const serving = local === undefined ? undefined : new Serving(local, 'act', place.surroundings);
    try {
      const workerOptions = workerOptionsOf(invocation.options);
      const followed = await follow(invocation, place, {
        session,
        serving,
        workerOptions,
        notifications: place.config.notifications,
        asks: isAtTerminal() && invocation.output.format === 'text',
        fresh: false,
        stream,
      });
      return report(invocation, session, followed, startedAt);
    } finally {
      await serving?.stop();
    }
  });
}
