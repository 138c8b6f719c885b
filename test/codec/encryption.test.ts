import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure, type Payload, type SerializationContext } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
  encodeErrorToFailure,
  encodeToPayloads,
  loadDataConverter,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encryption } from '../../codec/encryption.ts';
import { dataConverter, decodeFailureMessage, decodePayloads } from '../../codec/index.ts';
import { payloadConverter } from '../../codec/payload-converter.ts';
import { type KeyRing, sealedReason } from '../../protocol/index.ts';
import { bytes, encodingOf, payloadOf } from './payloads.ts';

const { Payload: PayloadProto } = proto.temporal.api.common.v1;
const SECRET = 'mellon-and-friend';

function ringOf(current: string, ...others: string[]): KeyRing {
  return { current, keys: new Map([current, ...others].map((id) => [id, keyOf(id)])) };
}
/** The same id, the same key. */
function keyOf(id: string): Uint8Array {
  return Buffer.alloc(32, id);
}
async function sealed(payload: Payload, ring: KeyRing): Promise<Payload> {
  return (await encryption(ring).encode([payload]))[0] as Payload;
}
async function opened(payload: Payload, ring: KeyRing): Promise<Payload> {
  return (await encryption(ring).decode([payload]))[0] as Payload;
}
const whole = (payload: Payload) => Buffer.from(PayloadProto.encode(payload).finish());

describe('sealing', () => {
  test('gives back what was sealed, data and metadata, whatever they are', async () => {
    const entries = fc.dictionary(
      fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
      fc.uint8Array({ maxLength: 20 }),
    );
    await fc.assert(
      fc.asyncProperty(entries, fc.uint8Array({ maxLength: 6_000 }), async (metadata, data) => {
        const payload = { metadata: { ...metadata, encoding: bytes('json/plain') }, data };
        const back = await opened(await sealed(payload, ringOf('k1')), ringOf('k1'));
        expect(PayloadProto.toObject(back as never, { bytes: String, defaults: true })).toEqual(
          PayloadProto.toObject(PayloadProto.create(payload), { bytes: String, defaults: true }),
        );
      }),
    );
  });

  test('leaves nothing to be read, and names the key', async () => {
    const payload = await sealed(payloadOf(`"${SECRET}"`), ringOf('k1'));
    expect(whole(payload).includes(SECRET)).toBe(false);
    expect(encodingOf(payload)).toBe('binary/encrypted');
    expect(payload.metadata?.['encryption-key-id']).toEqual(bytes('k1'));
  });

  test('never seals the same thing the same way', async () => {
    const ring = ringOf('k1');
    const payloads = await Promise.all(Array.from({ length: 500 }, () => sealed(payloadOf('"x"'), ring)));
    const nonces = payloads.map(({ metadata }) => Buffer.from(metadata?.['encryption-nonce'] ?? []));
    expect(new Set(nonces.map((nonce) => nonce.toString('hex'))).size).toBe(500);
    expect(nonces.every((nonce) => nonce.length === 12)).toBe(true);
    expect(new Set(payloads.map((payload) => whole(payload).toString('hex'))).size).toBe(500);
  });

  test('leaves every value what it was', async () => {
    const values = [undefined, null, '', 'x', { n: 1 }, new Uint8Array(), new Uint8Array([0, 255])];
    const loaded = loadDataConverter(dataConverter(ringOf('k1')));
    expect(await decodeArrayFromPayloads(loaded, await encodeToPayloads(loaded, ...values))).toStrictEqual(
      values,
    );
  });

  test('comes after compression', async () => {
    const large = { output: 'a line of a log that says little\n'.repeat(1_000) };
    const loaded = loadDataConverter(dataConverter(ringOf('k1')));
    const [payload] = (await encodeToPayloads(loaded, large)) as [Payload];
    expect(encodingOf(payload)).toBe('binary/encrypted');
    expect(whole(payload).length).toBeLessThan(1_000);
    expect(await decodeArrayFromPayloads(loaded, [payload])).toEqual([large]);
  });
});

describe('rotation', () => {
  test('one key writes, every key reads', async () => {
    const before = await sealed(payloadOf('"old"'), ringOf('k1'));
    const after = await sealed(payloadOf('"new"'), ringOf('k2', 'k1'));
    expect(after.metadata?.['encryption-key-id']).toEqual(bytes('k2'));
    expect(await decodePayloads([before, after, payloadOf('"plain"')], ringOf('k2', 'k1'))).toEqual([
      'old',
      'new',
      'plain',
    ]);
  });

  test('a ring without the key that it is to write with is refused', () => {
    expect(() => encryption({ current: 'k9', keys: new Map([['k1', keyOf('k1')]]) })).toThrow(/k9/);
  });
});

describe('what cannot be opened', () => {
  const activity: SerializationContext = { type: 'activity', namespace: 'default', isLocal: false };

  test('becomes a value that names the missing key', async () => {
    const payload = await sealed(payloadOf('"x"'), ringOf('k1'));
    for (const ring of [undefined, ringOf('k2')]) {
      const [value] = await decodePayloads([payload], ring);
      expect(sealedReason(value)).toEqual({
        key_id: 'k1',
        reason: 'it is sealed with the key k1, which is not here',
      });
    }
  });

  test('for another key of the same id says that', async () => {
    const payload = await sealed(payloadOf('"x"'), ringOf('k1'));
    const other = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
    const [value] = await decodePayloads([payload], other);
    expect(sealedReason(value)).toEqual({
      key_id: 'k1',
      reason: expect.stringMatching(/the key k1 that is here does not open it/),
    });
  });

  test('after any change of it is never taken for something else', async () => {
    const original = await sealed(payloadOf(`"${SECRET}"`), ringOf('k1', 'k2'));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('data', 'encryption-nonce', 'encryption-key-id'),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (part, place, change) => {
          const payload: Payload = structuredClone(original);
          const target = part === 'data' ? payload.data : payload.metadata?.[part];
          if (target == null) throw new Error('no such part');
          const at = place % target.length;
          target[at] = (target[at] ?? 0) ^ change;
          const [value] = await decodePayloads([payload], ringOf('k1', 'k2'));
          expect(value).toEqual({ undecodable: expect.anything() });
        },
      ),
    );
  });

  test.each<[what: string, payload: Payload]>([
    ['without a key id', payloadOf('x', 'binary/encrypted')],
    ['without metadata', { data: bytes('x') }],
    ['that is nothing', {}],
    ['that is cut short', { metadata: metadataOf('k1'), data: bytes('x') }],
    ['without data', { metadata: metadataOf('k1') }],
  ])('%s throws nothing', async (_what, payload) => {
    const [value] = await decodePayloads([payload], ringOf('k1'));
    expect(value).toEqual({ undecodable: expect.anything() });
  });

  test('between a workflow and its activities fails the task instead, for another worker to do it', async () => {
    const payload = await sealed(payloadOf('"x"'), ringOf('k1'));
    expect(() => payloadConverter.fromPayload(payload, activity)).toThrow(/sealed with the key k1/);
    // What nobody could ever read does not.
    expect(payloadConverter.fromPayload(payloadOf('{', 'json/plain'), activity)).toEqual({
      undecodable: expect.anything(),
    });
    expect(payloadConverter.fromPayload(payloadOf('x', 'binary/encrypted'), activity)).toEqual({
      undecodable: expect.anything(),
    });
  });
});

describe('failures', () => {
  const loaded = loadDataConverter(dataConverter(ringOf('k1')));
  const error = () =>
    ApplicationFailure.create({
      message: `no ${SECRET}`,
      type: 'limit',
      details: [SECRET],
      cause: new Error(SECRET),
    });

  test('are sealed with their texts, stacks and causes, and come back with them', async () => {
    const failure = await encodeErrorToFailure(loaded, error());
    const wire = Buffer.from(proto.temporal.api.failure.v1.Failure.encode(failure).finish());
    expect(wire.includes(SECRET)).toBe(false);
    expect(wire.includes('encryption.test')).toBe(false);
    const back = await decodeOptionalFailureToOptionalError(loaded, failure);
    expect(back).toMatchObject({
      message: `no ${SECRET}`,
      type: 'limit',
      details: [SECRET],
      cause: { message: SECRET },
    });
    expect(await decodeFailureMessage(failure, ringOf('k1'))).toBe(`no ${SECRET}`);
  });

  test('without the key say which one that is', async () => {
    const failure = await encodeErrorToFailure(loaded, error());
    expect(await decodeFailureMessage(failure)).toMatch(/sealed with the key k1, which is not here/);
    expect(await decodeFailureMessage(failure, ringOf('k2'))).toMatch(/sealed with the key k1/);
    expect(await decodeFailureMessage({ message: 'from the server' })).toBe('from the server');
  });

  test('stay readable without encryption', async () => {
    const failure = await encodeErrorToFailure(loadDataConverter(dataConverter()), error());
    expect(failure.message).toBe(`no ${SECRET}`);
  });
});

test('what workflows load of it imports nothing of Node', () => {
  for (const file of ['sealed', 'failure-converter']) {
    const source = readFileSync(fileURLToPath(new URL(`../../codec/${file}.ts`, import.meta.url)), 'utf8');
    const imports = [...source.matchAll(/ from '([^']+)'/g)].map(([, name]) => name);
    expect(imports).toEqual(['@temporalio/common']);
  }
});

function metadataOf(key: string): Record<string, Uint8Array> {
  return {
    encoding: bytes('binary/encrypted'),
    'encryption-key-id': bytes(key),
    'encryption-nonce': randomBytes(12),
  };
}
