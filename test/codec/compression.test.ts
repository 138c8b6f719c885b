import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compression } from '../../codec/compression.ts';
import { bytes, encodingOf, payloadOf } from './payloads.ts';

const { Payload: PayloadProto } = proto.temporal.api.common.v1;
const sizeOf = (payload: Payload) => PayloadProto.encode(payload).finish().length;

async function encoded(payload: Payload): Promise<Payload> {
  const [result] = await compression.encode([payload]);
  return result as Payload;
}
async function decoded(payload: Payload): Promise<Payload> {
  const [result] = await compression.decode([payload]);
  return result as Payload;
}

/** What an agent would read: our own sources, about 100 KB of them. */
function sourceText(length: number): string {
  const folders = ['protocol', 'workflows', 'client', 'cli/config'];
  const files = folders.flatMap((folder) => {
    const path = fileURLToPath(new URL(`../../${folder}/`, import.meta.url));
    const names = readdirSync(path).filter((name) => name.endsWith('.ts'));
    return names.sort().map((name) => readFileSync(path + name, 'utf8'));
  });
  const text = files.join('\n').slice(0, length);
  expect(text).toHaveLength(length);
  return text;
}

describe('writing', () => {
  test('leaves a payload of 4 KiB alone and compresses one of a byte more', async () => {
    const atThreshold = payloadOf('x'.repeat(4_096));
    expect(await encoded(atThreshold)).toBe(atThreshold);
    const above = await encoded(payloadOf('x'.repeat(4_097)));
    expect(encodingOf(above)).toBe('binary/zstd');
    expect(sizeOf(above)).toBeLessThan(200);
  });

  test('makes 100 KB of source text at least three times smaller', async () => {
    const payload = payloadOf(JSON.stringify(sourceText(100_000)));
    expect(sizeOf(payload) / sizeOf(await encoded(payload))).toBeGreaterThan(3);
  });

  test('leaves what does not get smaller as it is', async () => {
    const payload = payloadOf(randomBytes(20_000), 'binary/plain');
    expect(await encoded(payload)).toBe(payload);
  });

  test('never makes a payload larger', async () => {
    // A run of zeros, which shrinks to nothing, behind noise, which does not: around the point where it pays.
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 120 }), async (zeros) => {
        const payload = payloadOf(Buffer.concat([randomBytes(4_097), Buffer.alloc(zeros)]), 'binary/plain');
        expect(sizeOf(await encoded(payload))).toBeLessThanOrEqual(sizeOf(payload));
      }),
    );
  });

  test('takes payloads without data, and none at all', async () => {
    const empty = { metadata: { encoding: bytes('binary/null') } };
    expect(await compression.encode([empty])).toEqual([empty]);
    expect(await compression.encode([])).toEqual([]);
  });
});

describe('reading', () => {
  test('gives back data and metadata byte for byte, whatever they are', async () => {
    const entries = fc.dictionary(
      fc.string({ minLength: 1 }).filter((key) => key !== 'encoding' && key !== '__proto__'),
      fc.uint8Array({ maxLength: 20 }),
    );
    // A few bytes over and over, on both sides of the threshold.
    const data = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat({ max: 600 }))
      .map(([pattern, times]) => Buffer.concat(Array.from({ length: times }, () => pattern)));
    await fc.assert(
      fc.asyncProperty(entries, data, async (metadata, content) => {
        const original = { metadata: { ...metadata, encoding: bytes('json/plain') }, data: content };
        const result = await decoded(await encoded(original));
        expect(Buffer.from(result.data ?? [])).toEqual(Buffer.from(content));
        expect(Object.keys(result.metadata ?? {}).sort()).toEqual(Object.keys(original.metadata).sort());
        for (const [key, value] of Object.entries(original.metadata)) {
          expect(Buffer.from(result.metadata?.[key] ?? [])).toEqual(Buffer.from(value));
        }
      }),
    );
  });

  test('keeps the order of payloads of different kinds', async () => {
    const large = payloadOf(JSON.stringify('y'.repeat(9_000)));
    const small = payloadOf('1');
    const payloads = await compression.decode(await compression.encode([large, small, large]));
    expect(payloads.map(({ data }) => data?.length)).toEqual([9_002, 1, 9_002]);
  });

  test.each<[what: string, payload: Payload]>([
    ['bytes that are no frame', payloadOf('not a frame', 'binary/zstd')],
    ['a frame cut short', payloadOf(zstdCompressSync(Buffer.alloc(9_000)).subarray(0, 12), 'binary/zstd')],
    ['a frame that holds no payload', payloadOf(zstdCompressSync(bytes('{"message": "hi"}')), 'binary/zstd')],
    [
      'a frame that would grow beyond all bounds',
      payloadOf(zstdCompressSync(Buffer.alloc(80 << 20)), 'binary/zstd'),
    ],
    ['an empty frame', payloadOf('', 'binary/zstd')],
    ['no data', { metadata: { encoding: bytes('binary/zstd') } }],
    ['an encoding nobody here knows', payloadOf('x', 'binary/encrypted')],
    ['no encoding', { metadata: {}, data: bytes('x') }],
    ['no metadata', { data: bytes('x') }],
    ['nothing', {}],
  ])('passes on %s', async (_what, payload) => {
    expect(await decoded(payload)).toBe(payload);
  });
});
