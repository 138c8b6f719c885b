import type { WorkflowExecutionDescription } from '@temporalio/client';
import { decodePayloads } from '../codec/index.ts';
import type { KeyRing } from '../protocol/index.ts';
import { streamedTextSchema } from '../protocol/streamed-text.ts';
import type { Streaming } from './types.ts';

const MODEL = 'model';

/** What the agent's model is saying just now; undefined while it says nothing. Costs the agent no history. */
export async function streamingOf(
  raw: WorkflowExecutionDescription['raw'],
  keys?: KeyRing,
): Promise<Streaming | undefined> {
  const call = raw.pendingActivities?.find(({ activityType }) => activityType?.name === MODEL);
  const [details] = await decodePayloads(call?.heartbeatDetails?.payloads ?? [], keys);
  const streamed = streamedTextSchema.safeParse(details);
  if (call === undefined || !streamed.success || streamed.data.text === '') return undefined;
  return { ...streamed.data, call: `${call.activityId}.${call.attempt ?? 1}` };
}
