import type { Client } from '@temporalio/client';
import { CadreError, type CoreActivities, type RolloutRequest } from '../../protocol/index.ts';
import { AgentRuns } from '../../rollout/agent-runs.ts';
import { collect } from '../../rollout/collect.ts';
import type { Rollout } from '../../rollout/rollout.ts';
import { newHeader, type Rollouts } from '../../rollout/rollouts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { toFailure } from '../model/model-error.ts';
import { askRun } from './ask-run.ts';

/**
 * The `write_rollout` activity: all that a session was, into a file, in place of an earlier one.
 *
 * @param rollouts undefined for a worker that has no place for them
 */
export function createWriteRollout(
  client: Client,
  rollouts: Rollouts | undefined,
): CoreActivities['write_rollout'] {
  return async (request) => {
    if (rollouts === undefined) return { written: false };
    try {
      await withHeartbeat((signal) => write(client, rollouts, request, new Progress(signal)));
      return { written: true };
    } catch (error) {
      throw toFailure(error, 1);
    }
  };
}

async function write(
  client: Client,
  rollouts: Rollouts,
  { session_id: session }: RolloutRequest,
  progress: Progress,
): Promise<void> {
  const runs = new AgentRuns(client, askRun(client));
  const root = await runs.newest(session);
  if (root === undefined) throw new CadreError('agent_not_found', `There is no session ${session}.`);
  const found = await earlierRollout(rollouts, session);
  const earlier = found === 'broken' ? undefined : found;
  const body = progress.of(collect({ session, runs, stateDir: rollouts.stateDir, earlier }));
  const header = newHeader(session, root.queue);
  await progress.orStalled(
    found === 'broken' ? rollouts.writeInPlaceOfBroken(header, body) : rollouts.write(header, body),
  );
}

/** One that only lacks a key may hold what nothing else does: it is not written over. */
async function earlierRollout(
  rollouts: Rollouts,
  session: RolloutRequest['session_id'],
): Promise<Rollout | 'broken' | undefined> {
  try {
    return await rollouts.find(session);
  } catch (error) {
    if (error instanceof CadreError && error.code === 'rollout_invalid') return 'broken';
    throw error;
  }
}

/** An agent that is asked for what it was has 30 s to answer. */
const STALLED_MS = 45_000;
const LOOK_MS = 1_000;

/** A large session takes its time; one whose disk or agents say nothing any more is given up. */
class Progress {
  readonly #signal: AbortSignal;
  #last = Date.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async *of<T>(lines: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const line of lines) {
      this.#signal.throwIfAborted();
      this.#last = Date.now();
      yield line;
    }
  }

  /** @throws CadreError `timeout` when nothing has come for too long; what is under way is left alone */
  async orStalled(work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        if (Date.now() - this.#last < STALLED_MS) return;
        reject(new CadreError('timeout', `Nothing has come for ${STALLED_MS / 1_000} s.`));
      }, LOOK_MS);
    });
    await Promise.race([work, stalled]).finally(() => clearInterval(timer));
  }
}
