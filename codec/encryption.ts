import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { KeyRing } from '../protocol/index.ts';
import { CIPHER, METADATA, SEALED_ENCODING } from './sealed.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const { Payload: PayloadProto } = proto.temporal.api.common.v1;
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (data: Uint8Array | null | undefined) => new TextDecoder().decode(data ?? undefined);

/**
 * Seals every payload, whole, with the ring's current key, and opens what any of its keys has sealed. What it cannot
 * open it passes on, and the converter reports it.
 */
export function encryption({ current, keys }: KeyRing): PayloadCodec {
  const ring = new Map([...keys].map(([id, key]) => [id, createSecretKey(key)]));
  const writing = ring.get(current);
  if (writing === undefined) throw new Error(`there is no key ${current} to write with`);
  return {
    encode: async (payloads) => payloads.map((payload) => seal(payload, current, writing)),
    decode: async (payloads) => payloads.map((payload) => open(payload, ring)),
  };
}

function seal(payload: Payload, id: string, key: KeyObject): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(id));
  const data = [cipher.update(PayloadProto.encode(payload).finish()), cipher.final(), cipher.getAuthTag()];
  return {
    metadata: {
      [METADATA.encoding]: bytes(SEALED_ENCODING),
      [METADATA.cipher]: bytes(CIPHER),
      [METADATA.keyId]: bytes(id),
      [METADATA.nonce]: nonce,
    },
    data: Buffer.concat(data),
  };
}

function open(payload: Payload, ring: ReadonlyMap<string, KeyObject>): Payload {
  const { metadata, data } = payload;
  if (metadata == null || textOf(metadata[METADATA.encoding]) !== SEALED_ENCODING) return payload;
  const id = textOf(metadata[METADATA.keyId]);
  const key = ring.get(id);
  const nonce = metadata[METADATA.nonce];
  if (key === undefined || nonce == null || data == null) return payload;
  try {
    const tag = data.subarray(-TAG_BYTES);
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(boundTo(id))
      .setAuthTag(tag);
    const plain = [decipher.update(data.subarray(0, data.length - tag.length)), decipher.final()];
    return PayloadProto.decode(Buffer.concat(plain));
  } catch {
    return { data, metadata: { ...metadata, [METADATA.unopened]: bytes('yes') } };
  }
}

/** What stands in the open beside the sealed content, and may not be exchanged. */
function boundTo(id: string): Uint8Array {
  return bytes(`${CIPHER} ${id}`);
}
