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
      await withHeartbeat((signal) => write(client, rollouts, request, signal));
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
  signal: AbortSignal,
): Promise<void> {
  const runs = new AgentRuns(client, askRun(client));
  const root = await runs.newest(session);
  if (root === undefined) throw new CadreError('agent_not_found', `There is no session ${session}.`);
  const earlier = await earlierRollout(rollouts, session);
  const body = collect({ session, runs, stateDir: rollouts.stateDir, earlier });
  await rollouts.write(newHeader(session, root.queue), stoppable(body, signal));
}

/** One that is broken is replaced; one that only lacks a key may hold what nothing else does. */
async function earlierRollout(
  rollouts: Rollouts,
  session: RolloutRequest['session_id'],
): Promise<Rollout | undefined> {
  try {
    return await rollouts.find(session);
  } catch (error) {
    if (error instanceof CadreError && error.code === 'rollout_invalid') return undefined;
    throw error;
  }
}

async function* stoppable<T>(lines: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  for await (const line of lines) {
    signal.throwIfAborted();
    yield line;
  }
}
