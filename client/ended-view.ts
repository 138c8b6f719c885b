import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { type AgentId, type AgentView, CadreError, isUnreplayable, sessionOf } from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import { listAgents, listedStatus } from './list.ts';

/** A view that its workflow can no longer correct: it was ended from outside. */
export function asEnded(view: AgentView, execution: string): AgentView {
  if (view.closed || isStillThere(execution) || execution === 'COMPLETED') return view;
  return { ...atRest(view), status: 'errored', message: endedFromOutside(execution) };
}

function endedFromOutside(execution: string): string {
  return `ended from outside (${execution.toLowerCase().replaceAll('_', ' ')})`;
}

export type Standing = Pick<AgentView, 'status' | 'message'>;

/**
 * How an agent that has ended stands, where no worker tells it: none is there, or none has seen anything of it before it
 * was ended.
 *
 * @throws what was answered, where it says something else
 */
export function asListed(
  error: unknown,
  execution: Pick<WorkflowExecutionInfo, 'status' | 'typedSearchAttributes'>,
): Standing {
  if (!(error instanceof CadreError)) throw error;
  if (error.code === 'agent_not_resumable') return { status: 'errored', message: error.message };
  if (error.code !== 'no_worker' && !isUnreplayable(error)) throw error;
  const { name } = execution.status;
  return {
    status: listedStatus(execution),
    ...(name === 'COMPLETED' ? {} : { message: endedFromOutside(name) }),
  };
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
