import { expect, test } from 'vitest';
import { parsePayload, sendInputPayloadSchema } from '../../protocol/index.ts';
import { requireReadable } from '../../workflows/readable.ts';

const sealed = {
  undecodable: {
    encoding: 'binary/encrypted',
    reason: 'it is sealed with the key k1, which is not here',
    key_id: 'k1',
  },
};

test('what only lacks a key fails the workflow task with the id of the key', () => {
  expect(() => requireReadable(sealed)).toThrow(/cannot work for the agent: it is sealed with the key k1/);
});

test.each([
  ['a good payload', { message: 'x' }],
  ['nothing', undefined],
  ['what nobody could ever read', { undecodable: { encoding: 'none', reason: 'broken' } }],
])('%s does not', (_what, payload) => {
  requireReadable(payload);
});

test('input that is sealed with a key nobody has is rejected like any other that cannot be read', () => {
  expect(parsePayload(sendInputPayloadSchema, sealed)).toEqual({
    ok: false,
    reason: expect.stringContaining('the key k1'),
  });
});
