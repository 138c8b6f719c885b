import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { WorkerBuild } from '../protocol/index.ts';

const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = proto.temporal.api.enums.v1.TaskQueueType;
const { WORKER_VERSIONING_MODE_VERSIONED } = proto.temporal.api.enums.v1.WorkerVersioningMode;

function describeQueue(client: Client, queue: string, of: 'agents' | 'models') {
  return client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: of === 'agents' ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY,
  });
}

/** Whether anybody has polled the queue within the last five minutes. */
export async function isPolled(client: Client, queue: string, of: 'agents' | 'models'): Promise<boolean> {
  const { pollers } = await describeQueue(client, queue, of);
  return (pollers ?? []).length > 0;
}

/**
 * A build whose workers poll the queue for nothing: all that poll it are of a build, and neither a current nor a ramping
 * one is named, so that Temporal gives agents that are on no build yet to none of them.
 */
export async function idleBuild(client: Client, queue: string): Promise<WorkerBuild | undefined> {
  const { pollers, versioningInfo } = await describeQueue(client, queue, 'agents');
  const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = versioningInfo ?? {};
  if (current != null || (ramping != null && (versioningInfo?.rampingVersionPercentage ?? 0) > 0)) return;
  const builds = (pollers ?? []).map(({ deploymentOptions: options }) =>
    options?.workerVersioningMode === WORKER_VERSIONING_MODE_VERSIONED
      ? { deployment: options.deploymentName ?? '', build: options.buildId ?? '' }
      : undefined,
  );
  return builds.includes(undefined) ? undefined : builds[0];
}
