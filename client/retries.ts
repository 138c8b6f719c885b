import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Retry } from './types.ts';

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The activities of a workflow that have failed and are tried again. */
export function retriesOf(raw: WorkflowExecutionDescription['raw']): Retry[] {
  return (raw.pendingActivities ?? []).flatMap((pending) => retryOf(pending) ?? []);
}

function retryOf(pending: PendingActivity): Retry | undefined {
  const { attempt, lastFailure, scheduledTime, activityType } = pending;
  if (lastFailure == null || (attempt ?? 1) <= 1) return undefined;
  const nextMs = milliseconds(scheduledTime);
  return {
    activity: activityType?.name ?? '',
    attempt: attempt ?? 1,
    reason: lastFailure.message ?? 'it failed',
    ...(nextMs !== undefined && nextMs > Date.now() ? { next_at: new Date(nextMs).toISOString() } : {}),
  };
}

function milliseconds(time: PendingActivity['scheduledTime']): number | undefined {
  if (time == null) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + (time.nanos ?? 0) / 1e6;
}
