import type { Payload, PayloadCodec } from '@temporalio/common';
import type proto from '@temporalio/proto';
import { type KeyRing, sealedReason } from '../protocol/index.ts';
import { payloadCodecs } from './data-converter.ts';
import { payloadConverter } from './payload-converter.ts';

type Failure = proto.temporal.api.failure.v1.IFailure;

/** @param codecs in the order of writing */
export async function decodeWith(
  codecs: readonly PayloadCodec[],
  payloads: readonly Payload[],
): Promise<Payload[]> {
  let plain = [...payloads];
  for (const codec of codecs.toReversed()) plain = await codec.decode(plain);
  return plain;
}

/** Values of payloads that the SDK hands out as they came, such as heartbeat details. Never throws. */
export async function decodePayloads(payloads: readonly Payload[], keys?: KeyRing): Promise<unknown[]> {
  const plain = await decodeWith(payloadCodecs(keys), payloads);
  return plain.map((payload) => payloadConverter.fromPayload(payload));
}

/** The text of a failure that the SDK hands out as it came; with encryption it is a payload. */
export function decodeFailureMessage(failure: Failure, keys?: KeyRing): Promise<string | undefined> {
  return failureMessage(failure, payloadCodecs(keys));
}

/** @param codecs in the order of writing */
export async function failureMessage(
  { message, encodedAttributes }: Failure,
  codecs: readonly PayloadCodec[],
): Promise<string | undefined> {
  if (encodedAttributes == null) return message ?? undefined;
  const [plain] = await decodeWith(codecs, [encodedAttributes]);
  const attributes = plain === undefined ? undefined : payloadConverter.fromPayload(plain);
  const sealed = sealedReason(attributes);
  if (sealed !== undefined) return `what it says cannot be read here: ${sealed.reason}`;
  if (typeof attributes === 'object' && attributes !== null) {
    const { message: said } = attributes as { message?: unknown };
    if (typeof said === 'string') return said;
  }
  return message ?? undefined;
}
