import type { Payload } from '@temporalio/common';

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A payload as any client may send it. */
export function payloadOf(data: Uint8Array | string, encoding = 'json/plain'): Payload {
  return { metadata: { encoding: bytes(encoding) }, data: typeof data === 'string' ? bytes(data) : data };
}

export function encodingOf(payload: Payload | undefined): string {
  return new TextDecoder().decode(payload?.metadata?.encoding ?? undefined);
}
