import type { Payload } from '@temporalio/common';

/** Payloads as Temporal's codec protocol has them in JSON: all bytes, those of the metadata too, in base64. */
interface PayloadsJson {
  payloads: { metadata?: Record<string, string>; data?: string }[];
}

/** @throws Error that says what is wrong with it */
export function payloadsFromJson(json: unknown): Payload[] {
  const { payloads } = isObject(json) ? json : {};
  // JSON of protobuf leaves out a list that is empty.
  if (payloads === undefined && isObject(json)) return [];
  if (!Array.isArray(payloads)) throw new Error('It has to be {"payloads": […]}.');
  return payloads.map(payloadFromJson);
}

export function payloadsToJson(payloads: readonly Payload[]): PayloadsJson {
  return { payloads: payloads.map(payloadToJson) };
}

function payloadFromJson(json: unknown): Payload {
  if (!isObject(json)) throw new Error('A payload has to be an object.');
  const { metadata, data } = json;
  if (metadata != null && !isObject(metadata))
    throw new Error('The metadata of a payload has to be an object.');
  return {
    metadata: Object.fromEntries(
      Object.entries(metadata ?? {}).map(([name, value]) => [name, bytesOf(value, name)]),
    ),
    ...(data == null ? {} : { data: bytesOf(data, 'data') }),
  };
}

function payloadToJson({ metadata, data }: Payload): PayloadsJson['payloads'][number] {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]);
  return {
    metadata: Object.fromEntries(entries),
    ...(data == null ? {} : { data: base64(data) }),
  };
}

function bytesOf(value: unknown, name: string): Uint8Array {
  if (typeof value !== 'string') throw new Error(`${name} of a payload has to be base64.`);
  return Buffer.from(value, 'base64');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
