import { expect, test, vi } from 'vitest';
import { checkedSchema } from '../../cli/output-schema.ts';

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';
const object = (more: object): object => ({ type: 'object', ...more });

test.each([
  [{ type: 'bogus' }, 'type must be equal to one of the allowed values'],
  [object({ properties: { a: { type: 'strin' } } }), 'properties/a/type must be'],
  [object({ properties: { a: 3 } }), 'properties/a must be object,boolean'],
  [object({ $defs: { unused: { type: 'bogus' } } }), String.raw`\$defs/unused/type must be`],
  [object({ required: 'a' }), 'required must be array'],
  [{ items: [{ type: 'string' }] }, 'items must be'],
  [{ $schema: DRAFT_7, definitions: { a: { minimum: 'a' } } }, 'definitions/a/minimum must be number'],
  [{ $schema: 3 }, String.raw`\$schema must be string`],
  [{ $schema: 'https://example.org/own', type: 'bogus' }, 'type must be'],
  [{ $ref: '#/nowhere' }, "can't resolve reference #/nowhere"],
  [{ pattern: '(' }, 'pattern must match format'],
  [[], 'a JSON schema is an object'],
  ['string', 'a JSON schema is an object'],
])('%j is no schema', async (schema, reason) => {
  await expect(checkedSchema(schema, 'output_schema')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(new RegExp(`^output_schema is no valid JSON schema: ${reason}`)),
  });
});

test.each([
  {},
  { type: 'string', pattern: String.raw`^a\_b$` },
  object({ properties: { format: { type: 'string', format: 'of-my-own' } }, required: ['format'] }),
  object({ 'x-own': 3, properties: { a: { type: ['string', 'null'], description: 'a' } } }),
  object({ properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { items: { $ref: '#/$defs/b' } } } }),
  { $schema: DRAFT_7, items: [{ type: 'string' }] },
  { $schema: 'http://json-schema.org/draft-06/schema', definitions: { a: { const: 1 } } },
  { $schema: 'https://json-schema.org/draft/2019-09/schema', $recursiveRef: '#' },
  { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://example.org/a', type: 'array' },
  { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
])('%j is one, and nothing is printed', async (schema) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  expect(await checkedSchema(schema, 'output_schema')).toBe(schema);
  expect(warn).not.toHaveBeenCalled();
});
