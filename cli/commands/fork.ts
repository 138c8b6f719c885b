import type { Agent, ForkOptions } from '../../client/types.ts';
import { type AgentId, CadreError, newRootId, sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { readText } from '../read-text.ts';
import { serveWhileNeeded } from '../serving/serving.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { tellNeededKey } from '../serving/tell-needed-key.ts';
import { localQueue, type Workplace } from '../workplace.ts';

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
    const { queue } = await place.link.reach((client) => client.get(of).describe());
    const local = await place.localSession(sessionOf(of), queue);
    const settings: ForkAt = {
      id,
      queue: local === undefined ? queue : localQueue(id),
      source: { kind: interactive ? 'cli' : 'exec' },
      session: { non_interactive: !interactive, one_shot: text !== undefined },
      ...(text === undefined ? {} : { task: text }),
      ...(beforeMessage === undefined ? {} : { beforeMessage }),
    };
    const carried = await forkAt(invocation, place, of, settings);
    // What it is to do begins with whoever works for it next: this command would cut it short.
    if (text !== undefined) await place.withAgent(id, 'answer', (agent) => agent.send(text));
    if (local === undefined) tellNeededKey(invocation, place, queue);
    const context_mode = carried === 0 ? 'fresh' : 'forked';
    output.result(
      { agent_id: id, session_id: id, forked_from: of, context_mode, items_carried: carried },
      id,
    );
    if (text !== undefined) await tellIfUnserved(invocation, place, id);
    else {
      const start = carried === 0 ? 'It has nothing of the conversation and' : 'It';
      output.info(`${start} waits for input: cadre send ${id} TEXT`);
    }
    return EXIT.done;
  });
}

/** The task is the first message: a fork that does not take it along has another one, or none yet. */
async function taskLeftBehind(
  agent: Agent,
  { beforeMessage, task }: ForkOptions,
): Promise<{ task?: string }> {
  if (task !== undefined) return {};
  const carriesNone = beforeMessage === 1 || (await agent.items({ from: 0, to: 0 })).total === 0;
  return carriesNone ? { task: '' } : {};
}

type ForkAt = ForkOptions & { id: AgentId; queue: string };

/** @returns how many items the fork has taken along, which it does with the help of the agent it comes from */
function forkAt(invocation: Invocation, place: Workplace, of: AgentId, options: ForkAt): Promise<number> {
  const { id, queue } = options;
  return place.withAgent(of, 'answer', async (agent) => {
    await place.files.write({
      session_id: id,
      queue,
      cwd: invocation.cwd,
      started_at: new Date().toISOString(),
      ...place.address,
      ...place.sealing,
    });
    try {
      const made = await agent.fork({ ...(await taskLeftBehind(agent, options)), ...options });
      const local = await place.localSession(id, queue);
      return await serveWhileNeeded(local, 'act', place.surroundings, async () => {
        const { closed, status, message = '' } = await made.status();
        if (closed && status === 'errored') throw new CadreError('agent_not_resumable', message);
        return (await made.items({ from: 0, to: 0 })).total;
      });
    } catch (error) {
      await place.files.remove(id);
      throw error;
    }
  });
}
