import { sessionOf } from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import { agentIdOf, localQueue, type Workplace } from '../workplace.ts';
import { isServed } from './serving.ts';

/** What was sent is kept, but nobody will act on it until somebody works for the session. */
export async function tellIfUnserved(
  invocation: Invocation,
  place: Workplace,
  reference: string,
): Promise<void> {
  const session = sessionOf(agentIdOf(reference));
  const { queue, closed } = await place.link.client.get(session).describe();
  if (closed || queue !== localQueue(session) || (await isServed(place.session(session)))) return;
  invocation.output.warn(
    `nobody works for ${session} now: \`cadre attach ${session}\` does, or \`cadre worker\`.`,
  );
}
