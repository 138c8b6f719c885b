import type { Payload } from '@temporalio/common';
import { payloadCodecs } from './data-converter.ts';
import { payloadConverter } from './payload-converter.ts';

/** Values of payloads that the SDK hands out as they came, such as heartbeat details. Never throws. */
export async function decodePayloads(payloads: readonly Payload[]): Promise<unknown[]> {
  let plain = [...payloads];
  for (const codec of payloadCodecs.toReversed()) plain = await codec.decode(plain);
  return plain.map((payload) => payloadConverter.fromPayload(payload));
}
