import type { Client } from '@temporalio/client';
import {
  type AgentId,
  CadreError,
  type RolloutBody,
  type RolloutHeader,
  sessionOf,
} from '../protocol/index.ts';
import { AgentRuns, type AskRun } from '../rollout/agent-runs.ts';
import { collect } from '../rollout/collect.ts';
import { newHeader, type Rollouts } from '../rollout/rollouts.ts';
import { AgentLine } from './agent-line.ts';
import { isMissing } from './is-missing.ts';

/** A session as it is now: what stands between header and end is read while it is taken. */
export interface SessionRollout {
  header: RolloutHeader;
  body: AsyncIterable<RolloutBody>;
}

/**
 * The session that an agent is of: from Temporal, open or closed, else from its rollout.
 *
 * @throws CadreError `agent_not_found` where neither has it
 */
export async function exportSession(
  client: Client,
  id: AgentId,
  rollouts: Rollouts,
): Promise<SessionRollout> {
  const session = sessionOf(id);
  const runs = new AgentRuns(client, askRun(client));
  const earlier = await rollouts.find(session);
  const root = await newestRun(client, session, earlier !== undefined);
  if (root === undefined && earlier !== undefined) return { header: earlier.header, body: earlier.body() };
  return {
    header: newHeader(session, root?.taskQueue ?? ''),
    body: collect({ session, runs, stateDir: rollouts.stateDir, earlier }),
  };
}

/** With a rollout at hand, one that the server does not know is no error. */
async function newestRun(client: Client, session: AgentId, mayBeGone: boolean) {
  try {
    return await new AgentLine(client, session).describe();
  } catch (error) {
    if (mayBeGone && isMissing(error)) return undefined;
    throw error;
  }
}

function askRun(client: Client): AskRun {
  return async <Answer>(...[agent, runId, query, payload]: Parameters<AskRun>) => {
    try {
      return await new AgentLine(client, agent).query<Answer>(query, payload ?? undefined, runId);
    } catch (error) {
      if (isMissing(error) || (error instanceof CadreError && error.code === 'agent_not_resumable'))
        return undefined;
      throw error;
    }
  };
}
