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
  /** Why an earlier rollout of it that is here could not be read: what only that one holds is not in this one. */
  unread?: CadreError;
}

/**
 * The session that an agent is of: from Temporal, open or closed, else from its rollout.
 *
 * @throws CadreError `agent_not_found` where neither has it; `rollout_invalid` where only a rollout might that is broken
 */
export async function exportSession(
  client: Client,
  id: AgentId,
  rollouts: Rollouts,
): Promise<SessionRollout> {
  const session = sessionOf(id);
  const runs = new AgentRuns(client, askRun(client));
  const found = await rollouts.find(session).catch((error: unknown) => {
    if (error instanceof CadreError && error.code === 'rollout_invalid') return error;
    throw error;
  });
  const root = await newestRun(client, session, found !== undefined);
  const [earlier, unread] = found instanceof CadreError ? [undefined, found] : [found, undefined];
  if (root === undefined && unread !== undefined) throw unread;
  if (root === undefined && earlier !== undefined) return { header: earlier.header, body: earlier.body() };
  return {
    header: newHeader(session, root?.taskQueue ?? ''),
    body: collect({ session, runs, stateDir: rollouts.stateDir, earlier }),
    ...(unread === undefined ? {} : { unread }),
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
