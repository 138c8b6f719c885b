import type { WorkflowExecutionDescription } from '@temporalio/client';
import { decodeFailureMessage } from '../codec/index.ts';
import type { KeyRing } from '../protocol/index.ts';
import type { Retry } from './types.ts';

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The activities of a workflow that have failed and are tried again. */
export async function retriesOf(raw: WorkflowExecutionDescription['raw'], keys?: KeyRing): Promise<Retry[]> {
  const retries = await Promise.all((raw.pendingActivities ?? []).map((pending) => retryOf(pending, keys)));
  return retries.filter((retry) => retry !== undefined);
}

async function retryOf(pending: PendingActivity, keys: KeyRing | undefined): Promise<Retry | undefined> {
  const { attempt, lastFailure, scheduledTime, activityType } = pending;
  if (lastFailure == null || (attempt ?? 1) <= 1) return undefined;
  const nextMs = milliseconds(scheduledTime);
  return {
    activity: activityType?.name ?? '',
    attempt: attempt ?? 1,
    reason: (await decodeFailureMessage(lastFailure, keys)) ?? 'it failed',
    ...(nextMs !== undefined && nextMs > Date.now() ? { next_at: new Date(nextMs).toISOString() } : {}),
  };
}

function milliseconds(time: PendingActivity['scheduledTime']): number | undefined {
  if (time == null) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + (time.nanos ?? 0) / 1e6;
}
