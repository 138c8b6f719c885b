import type { Client } from '@temporalio/client';
import {
  type AgentId,
  CadreError,
  type ClosedAgentAnswer,
  type ClosedAgentRequest,
  findLastLife,
  QUERIES,
  type SnapshotPage,
  sessionOf,
  WORKFLOW_TYPE,
} from '../../protocol/index.ts';
import { isStillThere } from '../../protocol/lives.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import { snapshotOf } from '../../rollout/snapshot-of.ts';
import { toFailure } from '../model/model-error.ts';
import { describeNewest, queryRun } from '../query-run.ts';
import { orFromRollout } from './past-in-rollout.ts';

/**
 * The `find_closed_agent` activity: what is needed to start a closed agent again, from its newest run; also one that
 * was terminated, or failed.
 */
export function createFindClosedAgent(
  client: Client,
  rollouts?: Rollouts,
): (request: ClosedAgentRequest) => Promise<ClosedAgentAnswer> {
  return async ({ agent_id: id }) => {
    try {
      const newest = await newestClosedRun(client, id, rollouts);
      // The items are read later, by whoever is started; this asks for none.
      const { runId, snapshot, reports } = await findLastLife(newest, (run_id) => {
        const run = { agent_id: id, run_id };
        const asked = queryRun<SnapshotPage>(client, run, QUERIES.snapshot, { from: 0, to: 0 });
        return orFromRollout(rollouts, run, asked, async (_, agent) => snapshotOf(agent));
      });
      const { identity, settings, status, closed, note, open_children } = snapshot;
      return {
        ok: true,
        run_id: runId,
        identity,
        settings,
        status,
        closed,
        open_children,
        reports,
        ...(note === undefined ? {} : { note }),
      };
    } catch (error) {
      // One that is about to end may be asked for again in a moment; that is for the asking agent to decide.
      if (error instanceof StillOpen) return { ok: false, error: { ...error.body, retryable: true } };
      if (error instanceof CadreError && !error.retryable) return { ok: false, error: error.body };
      throw toFailure(error, 1);
    }
  };
}

class StillOpen extends CadreError {}

async function newestClosedRun(client: Client, id: AgentId, rollouts: Rollouts | undefined): Promise<string> {
  const found = await describeNewest(client, id);
  const left = found === undefined ? (await rollouts?.find(sessionOf(id)))?.agent(id) : undefined;
  if (left !== undefined) return left.run_id;
  if (found === undefined || found.type !== WORKFLOW_TYPE) {
    throw new CadreError(
      'agent_not_found',
      `There is no agent ${id}, or Temporal keeps it no longer, and no rollout of its session is here.`,
      {
        hint: 'Check the id; a closed agent is kept for the retention time of its namespace.',
      },
    );
  }
  if (isStillThere(found.status.name)) {
    throw new StillOpen('agent_not_resumable', `Agent ${id} is open: there is nothing to resume.`, {
      hint: 'Send it input.',
    });
  }
  return found.runId;
}
