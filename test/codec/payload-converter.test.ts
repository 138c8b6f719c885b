import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { payloadConverter } from '../../codec/payload-converter.ts';
import { isUndecodable } from '../../protocol/index.ts';
import { bytes, payloadOf } from './payloads.ts';

const roundTrip = (value: unknown) => payloadConverter.fromPayload(payloadConverter.toPayload(value));

describe('what can be read', () => {
  test('comes back as JSON carries it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(roundTrip(value)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each<[what: string, value: unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an empty string', ''],
    ['a string', 'zwölf Übel 🧪'],
    ['half a surrogate pair', 'x\ud800'],
    ['false', false],
    ['no items', []],
    ['bytes', new Uint8Array([0, 255, 3])],
    ['no bytes', new Uint8Array()],
  ])('%s comes back as it is', (_what, value) => {
    expect(roundTrip(value)).toStrictEqual(value);
  });

  test('is written as any other SDK writes it', () => {
    for (const value of [undefined, null, 'x', { a: [1] }, new Uint8Array([1])]) {
      expect(payloadConverter.toPayload(value)).toEqual(defaultPayloadConverter.toPayload(value));
    }
  });
});

describe('what cannot be read becomes a value that says so', () => {
  test.each<[what: string, payload: Payload, encoding: string, reason: RegExp]>([
    ['an unknown encoding', payloadOf('x', 'binary/encrypted'), 'binary/encrypted', /Unknown encoding/],
    ['what the codec left', payloadOf('x', 'binary/zstd'), 'binary/zstd', /Unknown encoding/],
    ['broken JSON', payloadOf('{"message": '), 'json/plain', /JSON/],
    ['JSON that is not text', payloadOf(new Uint8Array([0xff, 0xfe])), 'json/plain', /JSON/],
    ['empty JSON', payloadOf(''), 'json/plain', /JSON/],
    ['JSON without data', { metadata: { encoding: bytes('json/plain') } }, 'json/plain', /no data/],
    ['protobuf', payloadOf('{}', 'json/protobuf'), 'json/protobuf', /Unknown encoding/],
    ['no encoding', { metadata: {}, data: bytes('1') }, 'none', /./],
    ['no metadata', { data: bytes('1') }, 'none', /metadata/],
    ['nothing', {}, 'none', /metadata/],
  ])('%s', (_what, payload, encoding, reason) => {
    const value = payloadConverter.fromPayload(payload);
    expect(value).toEqual({ undecodable: { encoding, reason: expect.stringMatching(reason) } });
    expect(isUndecodable(value)).toBe(true);
  });

  test('without repeating more of it than a person would read', () => {
    const value = JSON.stringify(payloadConverter.fromPayload(payloadOf('x', 'e'.repeat(100_000))));
    expect(value.length).toBeLessThan(600);
  });

  test('whatever bytes somebody sends', () => {
    const metadata = fc.option(
      fc.record(
        {
          encoding: fc.oneof(
            fc.uint8Array({ maxLength: 30 }),
            fc.constantFrom('json/plain', 'binary/plain', 'binary/null', 'json/protobuf').map(bytes),
          ),
        },
        { requiredKeys: [] },
      ),
    );
    const payload = fc.record({ metadata, data: fc.option(fc.uint8Array()) }, { requiredKeys: [] });
    fc.assert(
      fc.property(payload, (garbage) => {
        const value = payloadConverter.fromPayload(garbage);
        const readable = ['json/plain', 'binary/plain', 'binary/null'];
        const name = new TextDecoder().decode(garbage.metadata?.encoding);
        expect(readable.includes(name) || isUndecodable(value)).toBe(true);
      }),
    );
  });
});

test('the converter can run inside a workflow: it imports nothing of Node', () => {
  const source = readFileSync(
    fileURLToPath(new URL('../../codec/payload-converter.ts', import.meta.url)),
    'utf8',
  );
  const imports = [...source.matchAll(/ from '([^']+)'/g)].map(([, name]) => name);
  expect(imports).toEqual(['@temporalio/common', '../protocol/index.ts', './sealed.ts']);
});
