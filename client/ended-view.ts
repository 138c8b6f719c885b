import type { Client } from '@temporalio/client';
import { type AgentId, type AgentView, sessionOf } from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import { listAgents } from './list.ts';

/** A view that its workflow can no longer correct: it was ended from outside. */
export function asEnded(view: AgentView, execution: string): AgentView {
  if (view.closed || isStillThere(execution) || execution === 'COMPLETED') return view;
  const message = `ended from outside (${execution.toLowerCase().replaceAll('_', ' ')})`;
  return { ...atRest(view), status: 'errored', message };
}

/**
 * What an agent knew of those below it when it was ended from outside, as they stand since: who runs on is told from the
 * server's list.
 */
export async function withoutLost(client: Client, views: AgentView[]): Promise<AgentView[]> {
  const [first] = views;
  if (first === undefined) return views;
  const listed = await listAgents(client, { session: sessionOf(first.agent_id), all: true });
  const summaries = new Map<AgentId, (typeof listed)[number]>(listed.map((each) => [each.agent_id, each]));
  return views.map((view) => {
    const now = summaries.get(view.agent_id);
    if (now === undefined || view.closed) return view;
    const { status } = now;
    return now.closed ? { ...atRest(view), status } : { ...view, status };
  });
}

/** Closed: it waits for nothing, and does nothing. */
function atRest({ waiting_for: _, current_tool: _tool, queued: _queued, ...view }: AgentView): AgentView {
  return { ...view, is_final: true, closed: true };
}
