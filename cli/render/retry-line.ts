import type { Retry } from '../../client/types.ts';
import { type AgentView, counted, formatDuration, nameOf } from '../../protocol/index.ts';

/** What a person reads of a call that is tried again. */
export function retryLine(agent: AgentView, retry: Retry, now = Date.now()): string {
  const what = retry.activity === 'model' ? 'the model call' : retry.activity;
  const when =
    retry.next_at === undefined
      ? 'it is being tried again'
      : `it is tried again in ${formatDuration(Date.parse(retry.next_at) - now)}`;
  const tried = retry.attempt - 1;
  return `${nameOf(agent.agent_id)}: ${what} has failed (${counted(tried, 'time')}): ${retry.reason}; ${when}`;
}
