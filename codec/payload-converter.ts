import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import type { Undecodable } from '../protocol/index.ts';

/**
 * JSON, as Temporal's own tools write and read it; but what cannot be read becomes a value that says so. Throwing
 * would fail the workflow task, again and again, for ever. Runs inside workflows as well: no Node here.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),

  fromPayload<T>(payload: Payload): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const undecodable: Undecodable = { undecodable: { encoding: encodingOf(payload), reason } };
      return undecodable as T;
    }
  },
};

function encodingOf(payload: Payload | null | undefined): string {
  try {
    const encoding = payload?.metadata?.encoding;
    return encoding === undefined || encoding === null ? 'none' : String.fromCharCode(...encoding.slice(0, 100));
  } catch {
    return 'unreadable';
  }
}
