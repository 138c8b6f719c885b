import { CadreError, type RolloutAgent, type SnapshotRequest, sessionOf } from '../../protocol/index.ts';
import type { Rollout } from '../../rollout/rollout.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';

/**
 * What a run has answered, or where Temporal keeps that run no longer, what the rollout of its session has from it.
 *
 * @throws what the run has answered, where no rollout has it either
 */
export async function orFromRollout<T>(
  rollouts: Rollouts | undefined,
  { agent_id: id, run_id }: SnapshotRequest,
  asked: Promise<T>,
  read: (rollout: Rollout, agent: RolloutAgent) => Promise<T>,
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'agent_not_resumable') throw error;
    const rollout = await rollouts?.find(sessionOf(id));
    const agent = rollout?.agent(id);
    if (rollout === undefined || agent?.run_id !== run_id) throw error;
    return read(rollout, agent);
  }
}
