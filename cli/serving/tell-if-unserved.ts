import { type AgentId, localQueue, sessionOf, workerCommand } from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import type { Workplace } from '../workplace.ts';
import { isServed } from './serving.ts';

/** What was started or sent is kept, but nobody will act on it until somebody works for the session. */
export async function tellIfUnserved({ output }: Invocation, place: Workplace, id: AgentId): Promise<void> {
  const session = sessionOf(id);
  const { client } = place.link;
  const { queue, closed, model_queue: models } = await client.get(session).describe();
  if (closed) return;
  if (queue === localQueue(session)) {
    if (await isServed(place.session(session))) return;
    output.warn(`nobody works for ${session} now: \`cadre attach ${session}\` does, or \`cadre worker\`.`);
  } else if (!(await client.hasWorkers(queue))) {
    output.warn(
      `nobody works for the queue ${queue}: ${session} waits until \`${workerCommand(queue)}\` does.`,
    );
  }
  if (models !== undefined && !(await client.hasWorkers(models, 'models'))) {
    output.warn(
      `nobody makes the model calls of ${models}: ${session} waits until \`${workerCommand(models)}\` does.`,
    );
  }
}
