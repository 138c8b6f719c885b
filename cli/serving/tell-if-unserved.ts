import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AgentId,
  currentBuildCommand,
  localQueue,
  type SessionId,
  sessionOf,
  type WorkerBuild,
  workerCommand,
} from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import type { Workplace } from '../workplace.ts';
import { isServed } from './serving.ts';

/** As long as nothing else is known. */
const GO_ON = 'the workers of its queue go on';
const LOOK_MS = 3_000;

/** What was started or sent is kept, but nobody will act on it until somebody works for the session. */
export async function tellIfUnserved({ output }: Invocation, place: Workplace, id: AgentId): Promise<void> {
  const session = sessionOf(id);
  const { client } = place.link;
  const { queue, closed, model_queue: models, build } = await client.get(session).describe();
  if (closed) return;
  if (queue === localQueue(session)) {
    if (await isServed(place.session(session))) return;
    output.warn(`nobody works for ${session} now: \`cadre attach ${session}\` does, or \`cadre worker\`.`);
  } else if (!(await client.hasWorkers(queue))) {
    output.warn(
      `nobody works for the queue ${queue}: ${session} waits until \`${workerCommand(queue)}\` does.`,
    );
  }
  const idle = build === undefined ? await client.idleBuild(queue) : undefined;
  if (idle !== undefined) output.warn(`${waitsForBuild(queue, idle)}: ${currentBuildCommand(idle)}`);
  if (models !== undefined && !(await client.hasWorkers(models, 'models'))) {
    output.warn(
      `nobody makes the model calls of ${models}: ${session} waits until \`${workerCommand(models)}\` does.`,
    );
  }
}

function waitsForBuild(queue: string, { deployment }: WorkerBuild): string {
  return `the workers of the queue ${queue} take up nothing new until a build of ${deployment} is current`;
}

/** Who goes on with a session of a queue that nobody follows any more, in a few words; soon, since somebody leaves. */
export function whoGoesOn(place: Workplace, session: SessionId): Promise<string> {
  const late = sleep(LOOK_MS, GO_ON, { ref: false });
  return Promise.race([look(place, session), late]).catch(() => GO_ON);
}

async function look(place: Workplace, session: SessionId): Promise<string> {
  const { client } = place.link;
  const { queue, build } = await client.get(session).describe();
  if (!(await client.hasWorkers(queue))) return `nobody works for its queue ${queue} now, and it waits there`;
  const idle = build === undefined ? await client.idleBuild(queue) : undefined;
  return idle === undefined ? GO_ON : waitsForBuild(queue, idle);
}
