import type { Payload } from '@temporalio/common';
import { compression } from './compression.ts';
import { payloadConverter } from './payload-converter.ts';

/** Values of payloads that the SDK hands out as they came, such as heartbeat details. Never throws. */
export async function decodePayloads(payloads: readonly Payload[]): Promise<unknown[]> {
  const plain = await compression.decode([...payloads]);
  return plain.map((payload) => payloadConverter.fromPayload(payload));
}
