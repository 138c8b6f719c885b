import { type AgentId, localQueue, sessionOf } from '../../protocol/index.ts';
import type { Invocation } from '../invocation.ts';
import { workerOptionsOf } from '../worker-options.ts';
import type { Workplace } from '../workplace.ts';
import { startBackgroundWorker } from './background.ts';
import { isServed } from './serving.ts';

/**
 * Before a command acts in a local session that nobody works for: what is under way there would go on with this
 * process, and be cut off at its end. So a worker in the background takes it over, where there is anything.
 */
export async function handOverWork(invocation: Invocation, place: Workplace, id: AgentId): Promise<void> {
  const session = sessionOf(id);
  if ((await place.files.read(session))?.queue !== localQueue(session)) return;
  if ((await isServed(place.session(session))) || !(await isUnderWay(place, session))) return;
  await startBackgroundWorker(session, place.files, workerOptionsOf(invocation.options)).serving();
  invocation.output.info(
    `Nobody worked for ${session}, and its agents have something to do: a worker in the background goes on with it until it is closed.`,
  );
}

/** Whether agents are at work, or a root is about to end its session. */
async function isUnderWay(place: Workplace, session: AgentId): Promise<boolean> {
  const tree = await place
    .withAgent(session, 'answer', async (root) => {
      const { closed } = await root.describe();
      return closed ? undefined : root.tree();
    })
    // Whatever it is, the command itself meets it, and tells.
    .catch(() => undefined);
  if (tree === undefined) return false;
  const [root] = tree.agents;
  return root?.closed === true || tree.agents.some(({ is_final, idle }) => !is_final && idle !== true);
}
