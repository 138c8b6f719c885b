import type { Client } from '@temporalio/client';
import { CadreError } from '../../protocol/index.ts';
import type { AskRun } from '../../rollout/agent-runs.ts';
import { queryRun } from '../query-run.ts';

/** Asks a run of an agent; undefined where nothing of that run is left. */
export function askRun(client: Client): AskRun {
  return async <Answer>(...[agent_id, run_id, query, payload]: Parameters<AskRun>) => {
    try {
      return await queryRun<Answer>(client, { agent_id, run_id }, query, payload);
    } catch (error) {
      if (error instanceof CadreError && error.code === 'agent_not_resumable') return undefined;
      throw error;
    }
  };
}
