import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import type { Undecodable } from '../protocol/index.ts';
import { whySealed } from './sealed.ts';

/** Of what a stranger sent, no more than this is repeated. */
const ENCODING_MAX = 100;
const REASON_MAX = 300;

/**
 * JSON, as Temporal's own tools write and read it; but what cannot be read becomes a value that says so. Throwing
 * would fail the workflow task, again and again, for ever. Runs inside workflows as well: no Node here.
 *
 * The one exception is what passes between a workflow and its activities: that is Cadre's own, and only lacks a key
 * that other workers of the queue have. The task fails, and is done by one of them; going on would ruin the session.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),

  fromPayload<T>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<T>): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload, context, hint);
    } catch (error) {
      const sealed = sealedState(payload);
      if (sealed !== undefined && context?.type === 'activity') {
        throw new Error(`A payload cannot be read: ${sealed.reason}`);
      }
      const reason = (error instanceof Error ? error.message : String(error)).slice(0, REASON_MAX);
      const undecodable: Undecodable = {
        undecodable: { encoding: encodingOf(payload), reason, ...sealed },
      };
      return undecodable as T;
    }
  },
};

function sealedState(payload: Payload): ReturnType<typeof whySealed> {
  try {
    return whySealed(payload);
  } catch {
    return undefined;
  }
}

function encodingOf(payload: Payload | null | undefined): string {
  try {
    const encoding = payload?.metadata?.encoding;
    if (encoding === undefined || encoding === null) return 'none';
    return String.fromCharCode(...encoding.slice(0, ENCODING_MAX));
  } catch {
    return 'unreadable';
  }
}
