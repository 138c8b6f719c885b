import type { Payload } from '@temporalio/common';

/** How sealed payloads are marked; the names are those of Temporal's own examples. Runs inside workflows as well. */
export const SEALED_ENCODING = 'binary/encrypted';
export const CIPHER = 'AES-256-GCM';
export const METADATA = {
  encoding: 'encoding',
  cipher: 'encryption-cipher',
  keyId: 'encryption-key-id',
  nonce: 'encryption-nonce',
  /** Set by a reader that has a key of that id, which does not open the payload. */
  unopened: 'encryption-unopened',
} as const;

/** Of what a stranger sent, no more than this is repeated. */
const ID_SHOWN = 100;

/** Why a payload that Cadre has sealed is still sealed; undefined for any other payload. */
export function whySealed(
  payload: Payload | null | undefined,
): { key_id: string; reason: string } | undefined {
  const { metadata } = payload ?? {};
  if (text(metadata?.[METADATA.encoding]) !== SEALED_ENCODING) return undefined;
  const key_id = text(metadata?.[METADATA.keyId])?.slice(0, ID_SHOWN);
  if (key_id === undefined) return undefined;
  const reason =
    metadata?.[METADATA.unopened] == null
      ? `it is sealed with the key ${key_id}, which is not here`
      : `the key ${key_id} that is here does not open it: it was sealed with another one of that id, or changed since`;
  return { key_id, reason };
}

function text(bytes: Uint8Array | null | undefined): string | undefined {
  return bytes == null ? undefined : String.fromCharCode(...bytes.subarray(0, ID_SHOWN));
}
