import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import proto from '@temporalio/proto';
import { failureMessage } from '../codec/index.ts';
import {
  type AgentId,
  CadreError,
  currentBuildCommand,
  isOfOtherVersion,
  OTHER_VERSION_HINT,
  type WorkerBuild,
} from '../protocol/index.ts';
import { idleBuild } from './queue-workers.ts';
import type { TaskFailure } from './types.ts';

const { VersioningBehavior, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

/** The failure stands at the end of the history, before what has come to the agent since. */
const LATEST_EVENTS = 50;
/** What the server says where a namespace has lost a search attribute. */
const UNKNOWN_ATTRIBUTE = /no mapping defined for search attribute|search attribute \S+ is not defined/i;

/**
 * Why an agent stands still although workers take its workflow task: they fail at it, and it is handed out again.
 *
 * @returns undefined for an agent that goes on, and for one that only lacks a worker
 */
export async function taskFailureOf(
  client: Client,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<TaskFailure | undefined> {
  const attempt = raw.pendingWorkflowTask?.attempt ?? 1;
  if (attempt <= 1) return undefined;
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: LATEST_EVENTS,
  });
  const ended = history?.events?.find(
    (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskCompletedEventAttributes,
  );
  // Without a failure before it the task has only run out of time: its worker has gone.
  const { cause, failure } = ended?.workflowTaskFailedEventAttributes ?? {};
  if (cause == null || failure == null) return undefined;
  const message = (await failureMessage(failure, client.options.loadedDataConverter.payloadCodecs)) ?? '';
  return {
    attempt,
    message,
    of_other_version:
      cause === WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR ||
      isOfOtherVersion(message),
  };
}

/** The build that an agent stays with whose workers have a version. */
export function buildOf({ raw }: WorkflowExecutionDescription): WorkerBuild | undefined {
  const { behavior, deploymentVersion } = raw.workflowExecutionInfo?.versioningInfo ?? {};
  if (behavior !== VersioningBehavior.VERSIONING_BEHAVIOR_PINNED || deploymentVersion == null) return;
  return { deployment: deploymentVersion.deploymentName ?? '', build: deploymentVersion.buildId ?? '' };
}

/**
 * Who could answer for an agent that nobody answers for: with worker versioning those of its build alone, whoever else
 * works for its queue.
 */
export async function lacksItsBuild(
  client: Client,
  id: AgentId,
  execution: WorkflowExecutionDescription,
  cause: unknown,
): Promise<CadreError | undefined> {
  const { taskQueue: queue } = execution;
  const own = buildOf(execution);
  if (own === undefined) {
    const idle = await idleBuild(client, queue);
    return idle === undefined ? undefined : lacksCurrentBuild(id, queue, idle, cause);
  }
  const { deployment, build } = own;
  const text = `Nobody works for agent ${id}: it did not answer, and only workers of build ${build} of ${deployment} can.`;
  return new CadreError('no_worker', text, {
    hint: `Start one of that build: cadre worker --queue ${queue} --deployment ${deployment} --build-id ${build} (docs/production.md, "New versions").`,
    retryable: true,
    cause,
  });
}

function lacksCurrentBuild(id: AgentId, queue: string, idle: WorkerBuild, cause: unknown): CadreError {
  const text = `Nobody works for agent ${id}: it did not answer, and the workers of its queue ${queue} take up nothing, since no build of ${idle.deployment} is current.`;
  return new CadreError('no_worker', text, {
    hint: `Make one current: ${currentBuildCommand(idle)} (docs/production.md, "New versions").`,
    retryable: true,
    cause,
  });
}

/** The same as an error: for whoever asks the agent for something, and as a warning for whoever follows it. */
export function standsStill(id: AgentId, failure: TaskFailure, cause?: unknown): CadreError {
  const { attempt, message, of_other_version } = failure;
  const why = of_other_version
    ? 'the code of its worker is of another version and cannot replay what the agent has recorded'
    : 'its workflow task fails';
  const text = `agent ${id} stands still: ${why} (tried ${attempt} times). The worker said: ${message}`;
  return new CadreError('no_worker', text, {
    hint: hintFor(failure),
    retryable: true,
    cause,
  });
}

function hintFor({ message, of_other_version }: TaskFailure): string {
  if (of_other_version) return OTHER_VERSION_HINT;
  if (UNKNOWN_ATTRIBUTE.test(message)) {
    return '`cadre setup` registers the search attributes of the namespace again; then the agent goes on, and nothing is lost.';
  }
  return 'The message says what its worker lacks; once a worker can carry the task out the agent goes on, and nothing is lost.';
}
