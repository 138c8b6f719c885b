import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure, type LoadedDataConverter, type Payload } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
  decodeOptionalFailureToOptionalError,
  encodeErrorToFailure,
  encodeMapToPayloads,
  encodeToPayloads,
  loadDataConverter,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dataConverter, decodePayloads } from '../../codec/index.ts';
import { encodingOf, payloadOf } from './payloads.ts';

/** As clients and workers load it: the converter by its path, beside the codecs. */
const loaded: LoadedDataConverter = loadDataConverter(dataConverter());

const encode = (...values: unknown[]) => encodeToPayloads(loaded, ...values);
const decode = (payloads: Payload[] | undefined) => decodeArrayFromPayloads(loaded, payloads);

const large = { output: 'a line of a log that says little\n'.repeat(1_000) };

describe('arguments and results', () => {
  test('come back as they were, large ones compressed in between', async () => {
    const values = ['x', null, undefined, { n: 1 }, large, new Uint8Array(10_000)];
    const payloads = await encode(...values);
    expect(payloads?.map(encodingOf)).toEqual([
      'json/plain',
      'json/plain',
      'binary/null',
      'json/plain',
      'binary/zstd',
      'binary/zstd',
    ]);
    expect(await decode(payloads)).toEqual(values);
  });

  test('come back as they were, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.nat({ max: 6_000 }), async (value, length) => {
        const values = [value, { value, padding: '-'.repeat(length) }];
        expect(await decode(await encode(...values))).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });

  test('of which one cannot be read leave the others readable', async () => {
    const [first, second] = (await encode({ n: 1 }, large)) as [Payload, Payload];
    const values = await decode([first, payloadOf('x', 'binary/encrypted'), second]);
    expect(values).toEqual([
      { n: 1 },
      { undecodable: { encoding: 'binary/encrypted', reason: 'Unknown encoding: binary/encrypted' } },
      large,
    ]);
  });
});

test('a memo goes through it as well, small ones readable for everybody', async () => {
  const map = await encodeMapToPayloads(loaded, { task: 'survey this folder', note: large.output });
  expect(encodingOf(map.task)).toBe('json/plain');
  expect(encodingOf(map.note)).toBe('binary/zstd');
  expect(await decodeMapFromPayloads(loaded, map)).toEqual({
    task: 'survey this folder',
    note: large.output,
  });
});

describe('failures', () => {
  test('keep type, message and large details', async () => {
    const error = ApplicationFailure.create({ message: 'no', type: 'limit', details: [large, 'x'] });
    const failure = await encodeErrorToFailure(loaded, error);
    expect(encodingOf(failure.applicationFailureInfo?.details?.payloads?.[0])).toBe('binary/zstd');
    const back = await decodeOptionalFailureToOptionalError(loaded, failure);
    expect(back).toMatchObject({ message: 'no', type: 'limit', details: [large, 'x'] });
  });

  test.each<[what: string, attributes: Payload]>([
    ['sealed by somebody else', payloadOf('x', 'binary/encrypted')],
    ['broken', payloadOf('{"message": ')],
    ['a broken frame', payloadOf('x', 'binary/zstd')],
    ['of no encoding', {}],
  ])('whose encoded attributes are %s still become an error', async (_what, encodedAttributes) => {
    const failure = {
      message: 'Encoded failure',
      encodedAttributes,
      applicationFailureInfo: { type: 'limit', details: { payloads: [encodedAttributes] } },
      cause: { message: 'the cause', encodedAttributes },
    };
    const error = await decodeOptionalFailureToOptionalError(loaded, failure);
    expect(error).toBeInstanceOf(ApplicationFailure);
    expect(error).toMatchObject({
      message: 'Encoded failure',
      type: 'limit',
      details: [{ undecodable: {} }],
      cause: { message: 'the cause' },
    });
  });
});

describe('raw payloads, such as heartbeat details', () => {
  test('are decoded like any others', async () => {
    const payloads = (await encode({ offset: 3, tail: 'x' }, large)) ?? [];
    expect(await decodePayloads(payloads)).toEqual([{ offset: 3, tail: 'x' }, large]);
    expect(await decodePayloads([])).toEqual([]);
  });

  test('that are garbage throw nothing', async () => {
    const missing = null as unknown as Payload;
    const values = await decodePayloads([payloadOf('x', 'binary/zstd'), {}, missing, payloadOf('7')]);
    expect(values).toEqual([
      { undecodable: { encoding: 'binary/zstd', reason: expect.any(String) } },
      { undecodable: { encoding: 'none', reason: expect.any(String) } },
      { undecodable: { encoding: 'none', reason: expect.any(String) } },
      7,
    ]);
  });
});

test('the built package finds its own converter', () => {
  const codec = new URL('../../dist/codec/index.js', import.meta.url).href;
  const program = `
    import { createRequire } from 'node:module';
    import { payloadConverterPath } from '${codec}';
    const path = payloadConverterPath();
    const { payloadConverter } = createRequire('${codec}')(path);
    console.log(JSON.stringify([path, payloadConverter.fromPayload(payloadConverter.toPayload('read'))]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const compiled = fileURLToPath(new URL('../../dist/codec/payload-converter.js', import.meta.url));
  expect(JSON.parse(stdout)).toEqual([compiled, 'read']);
});
