import {
  type Client,
  QueryNotRegisteredError,
  ServiceError,
  type WorkflowExecutionDescription,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  type AgentId,
  CadreError,
  endedUnborn,
  isOfOtherVersion,
  isUndecodable,
  type QUERIES,
  unreplayable,
} from '../protocol/index.ts';

/** What nobody answers by then has to be tried again. */
const DEADLINE_MS = 30_000;

/** One run of an agent, open or closed. */
export interface AgentRun {
  agent_id: AgentId;
  run_id: string;
}

/**
 * Asks a run of an agent. A closed one answers as well, as long as Temporal keeps its history.
 *
 * @throws CadreError `agent_not_resumable` when the run is gone; else a retryable one, as somebody may answer later
 */
export async function queryRun<Answer>(
  client: Client,
  { agent_id, run_id }: AgentRun,
  query: (typeof QUERIES)[keyof typeof QUERIES],
  payload: unknown,
): Promise<Answer> {
  const handle = client.workflow.getHandle(agent_id, run_id);
  try {
    const answer = await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      handle.query<Answer, [unknown]>(query, payload),
    );
    if (isUndecodable(answer)) throw new Error(`its answer cannot be read: ${answer.undecodable.reason}`);
    return answer;
  } catch (cause) {
    if (cause instanceof WorkflowNotFoundError) {
      throw new CadreError(
        'agent_not_resumable',
        `Temporal keeps the run ${run_id} of ${agent_id} no longer: its retention time is over.`,
        { hint: 'Start a new agent, and tell it what it has to know.', cause },
      );
    }
    if (cause instanceof ServiceError && endedUnborn(String(cause.cause))) {
      throw new CadreError('agent_not_resumable', `Agent ${agent_id} was ended before it began.`, {
        hint: 'Start another one.',
        cause,
      });
    }
    if (cause instanceof QueryNotRegisteredError && isOfOtherVersion(cause.message)) {
      throw unreplayable(agent_id, cause.message, cause);
    }
    throw new CadreError(
      'internal',
      `The run ${run_id} of ${agent_id} does not answer the query ${query}: ${String(cause)}`,
      { retryable: true, cause },
    );
  }
}

/** The newest execution of an agent; undefined where Temporal keeps none. */
export async function describeNewest(
  client: Client,
  id: AgentId,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await client.withDeadline(Date.now() + DEADLINE_MS, () =>
      client.workflow.getHandle(id).describe(),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
