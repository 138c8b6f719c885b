import type { ForkedAgent, ForkOptions } from '../../client/types.ts';
import { type AgentId, CadreError, localQueue, newRootId, sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { readText } from '../read-text.ts';
import { serveWhileNeeded } from '../serving/serving.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { tellNeededKey } from '../serving/tell-needed-key.ts';
import type { Workplace } from '../workplace.ts';

/** Starts a new session from the conversation of an agent: local if that one's is, else on the same queue. */
export default function fork(
  invocation: Invocation,
  [reference, argument]: [string, string | undefined],
  { beforeMessage }: { beforeMessage?: number },
): Promise<ExitCode> {
  const { output } = invocation;
  const interactive = isAtTerminal();
  return atAgent(invocation, reference, async (place, of) => {
    const text = argument === undefined ? undefined : await readText(argument, 'The text');
    const id = newRootId(Date.now(), Math.random);
    const { queue, gone } = await place.lastQueueOf(of);
    const session = sessionOf(of);
    // What this machine has the rollout of, it may work for.
    const isLocal = gone
      ? queue === localQueue(session)
      : (await place.localSession(session, queue)) !== undefined;
    const options: ForkAt = {
      id,
      queue: isLocal ? localQueue(id) : queue,
      rollouts: place.rollouts,
      source: { kind: interactive ? 'cli' : 'exec' },
      session: { non_interactive: !interactive, one_shot: text !== undefined },
      ...(text === undefined ? {} : { task: text }),
      ...(beforeMessage === undefined ? {} : { beforeMessage }),
    };
    const start = () => startAt(invocation, place, of, options);
    const { context_mode, items_carried } = gone
      ? await place.withSession(session, start)
      : await place.withAgent(of, 'answer', start);
    // What it is to do begins with whoever works for it next: this command would cut it short.
    if (text !== undefined) await place.withAgent(id, 'answer', (agent) => agent.send(text));
    if (!isLocal) tellNeededKey(invocation, place, queue);
    output.result({ agent_id: id, session_id: id, forked_from: of, context_mode, items_carried }, id);
    if (text !== undefined) await tellIfUnserved(invocation, place, id);
    else {
      const begins = items_carried === 0 ? 'It has nothing of the conversation and' : 'It';
      output.info(`${begins} waits for input: cadre send ${id} TEXT`);
    }
    return EXIT.done;
  });
}

type ForkAt = ForkOptions & { id: AgentId; queue: string };

/** Starts it, and sees that it has the conversation: it reads that from the agent that it comes from, or its rollout. */
async function startAt(
  invocation: Invocation,
  place: Workplace,
  of: AgentId,
  options: ForkAt,
): Promise<ForkedAgent> {
  const { id, queue } = options;
  await place.files.write({
    session_id: id,
    queue,
    cwd: invocation.cwd,
    started_at: new Date().toISOString(),
    ...place.address,
    ...place.sealing,
  });
  try {
    const made = await place.link.reach((client) => client.get(of).fork(options));
    const local = await place.localSession(id, queue);
    await serveWhileNeeded(local, 'act', place.surroundings, async () => {
      const { closed, status, message = '' } = await made.status();
      if (closed && status === 'errored') throw new CadreError('agent_not_resumable', message);
    });
    return made;
  } catch (error) {
    await place.files.remove(id);
    throw error;
  }
}
