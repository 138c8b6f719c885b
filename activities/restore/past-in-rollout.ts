import { WorkflowNotFoundError } from '@temporalio/client';
import {
  CadreError,
  isUnreplayable,
  type RolloutAgent,
  type SnapshotRequest,
  sessionOf,
} from '../../protocol/index.ts';
import type { Rollout } from '../../rollout/rollout.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';

/**
 * What a run has answered, or where Temporal keeps that run no longer, or the code here cannot replay it, what the
 * rollout of its session has from it.
 *
 * @throws what the run has answered; where no rollout has it either, that this worker found none, and where it looked
 */
export async function orFromRollout<T>(
  rollouts: Rollouts | undefined,
  run: SnapshotRequest,
  asked: Promise<T>,
  read: (rollout: Rollout, agent: RolloutAgent) => Promise<T>,
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const isGone = error instanceof CadreError && error.code === 'agent_not_resumable';
    if (!isGone && !isUnreplayable(error)) throw error;
    const rollout = await rollouts?.find(sessionOf(run.agent_id));
    const agent = rollout?.agent(run.agent_id);
    if (rollout !== undefined && agent?.run_id === run.run_id) return read(rollout, agent);
    if (rollouts === undefined || !(error.cause instanceof WorkflowNotFoundError)) throw error;
    throw nowhere(run, rollouts, rollout, error);
  }
}

function nowhere(
  { agent_id: id, run_id }: SnapshotRequest,
  { folders }: Rollouts,
  rollout: Rollout | undefined,
  cause: CadreError,
): CadreError {
  const where =
    rollout === undefined
      ? `no rollout of its session lies where this worker looks for it: in ${folders.join(' or ')} ([rollouts] directory)`
      : `the rollout that this worker has of its session, ${rollout.path}, holds another life of it, or none`;
  return new CadreError(
    'agent_not_resumable',
    `Temporal keeps the run ${run_id} of ${id} no longer, and ${where}.`,
    { hint: 'Name the folder that it lies in, or start a new agent and tell it what it has to know.', cause },
  );
}
