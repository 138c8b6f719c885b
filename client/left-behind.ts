import type { Connection } from '@temporalio/client';
import { type RolloutAgent, type SnapshotPage, sessionOf, WORKFLOW_TYPE } from '../protocol/index.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { snapshotOf } from '../rollout/snapshot-of.ts';
import type { AgentLine } from './agent-line.ts';
import { isMissing } from './is-missing.ts';
import { knownSearchAttributes } from './search-attributes.ts';

/** Stands for the status of an execution that is no more. */
export const GONE = 'GONE';

/** What an agent's newest execution is, as far as anybody keeps it. */
export interface LastSeen {
  type: string;
  status: { name: string };
  runId: string;
  taskQueue: string;
}

/** What Temporal's server says of an agent; of one that it keeps no longer, what the rollout of its session does. */
export async function lastSeen(line: AgentLine, rollouts: Rollouts | undefined): Promise<LastSeen> {
  try {
    return await line.describe();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const rollout = await rollouts?.find(sessionOf(line.id));
    const agent = rollout?.agent(line.id);
    if (rollout === undefined || agent === undefined) throw error;
    const { queue: taskQueue } = rollout.header;
    return { type: WORKFLOW_TYPE, status: { name: GONE }, runId: agent.run_id, taskQueue };
  }
}

/** A `snapshot` of a run without items, or where Temporal keeps that run no longer, the same from the rollout. */
export async function snapshotOr(
  line: AgentLine,
  rollouts: Rollouts | undefined,
  runId: string,
  asked: Promise<SnapshotPage>,
): Promise<SnapshotPage> {
  try {
    return await asked;
  } catch (error) {
    if (!isMissing(error)) throw error;
    const agent: RolloutAgent | undefined = (await rollouts?.find(sessionOf(line.id)))?.agent(line.id);
    if (agent?.run_id !== runId) throw error;
    const { connection, options } = line.client;
    return snapshotOf(agent, await knownSearchAttributes(connection as Connection, options.namespace));
  }
}
