import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

/** Up to here payloads stay readable for everybody, and would gain little. */
const THRESHOLD_BYTES = 4 * 1024;
/** More than a history may hold; a frame that claims more is not ours. */
const MOST_BYTES = 64 * 1024 * 1024;
const ENCODING = 'binary/zstd';
const encoding = new TextEncoder().encode(ENCODING);

const { Payload: PayloadProto } = proto.temporal.api.common.v1;

/** Compresses payloads above 4 KiB with zstd. What it cannot read it passes on, and the converter reports it. */
export const compression: PayloadCodec = {
  encode: async (payloads) => payloads.map(compress),
  decode: async (payloads) => payloads.map(decompress),
};

function compress(payload: Payload): Payload {
  if ((payload.data?.length ?? 0) <= THRESHOLD_BYTES) return payload;
  const whole = PayloadProto.encode(payload).finish();
  const wrapped: Payload = { metadata: { encoding }, data: zstdCompressSync(whole) };
  return PayloadProto.encode(wrapped).finish().length < whole.length ? wrapped : payload;
}

function decompress(payload: Payload): Payload {
  try {
    const { metadata, data } = payload;
    if (!data || new TextDecoder().decode(metadata?.encoding ?? undefined) !== ENCODING) return payload;
    return PayloadProto.decode(zstdDecompressSync(data, { maxOutputLength: MOST_BYTES }));
  } catch {
    return payload;
  }
}
