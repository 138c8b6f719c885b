import { expect, test, vi } from 'vitest';
import { checkedSchema } from '../../client/output-schema.ts';

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';
const object = (more: object): object => ({ type: 'object', ...more });

test.each([
  [{ type: 'bogus' }, 'type must be equal to one of the allowed values'],
  [object({ properties: { a: { type: 'strin' } } }), 'properties/a/type must be'],
  [object({ properties: { a: 3 } }), 'properties/a must be object,boolean'],
  [object({ $defs: { unused: { type: 'bogus' } } }), String.raw`\$defs/unused/type must be`],
  [object({ required: 'a' }), 'required must be array'],
  [{ $schema: DRAFT_2020, items: [{ type: 'string' }] }, 'items must be'],
  [{ items: [{ type: 'bogus' }] }, 'items must be'],
  [{ exclusiveMinimum: true }, 'exclusiveMinimum must be number'],
  [
    object({ id: 'foo', properties: { a: { $ref: '#/no', nullable: true } } }),
    "can't resolve reference #/no",
  ],
  [{ $schema: DRAFT_7, definitions: { a: { minimum: 'a' } } }, 'definitions/a/minimum must be number'],
  [{ $schema: 3 }, String.raw`\$schema must be string`],
  [{ $schema: 'https://example.org/own', type: 'bogus' }, 'type must be'],
  [{ $ref: '#/nowhere' }, "can't resolve reference #/nowhere"],
  [{ pattern: '(' }, 'pattern must match format'],
  [{ pattern: '(?:a' }, 'pattern must match format'],
  [circular(), 'Converting circular structure to JSON'],
  [[], 'a JSON schema is an object'],
  ['string', 'a JSON schema is an object'],
])('%o is no schema', async (schema, reason) => {
  await expect(checkedSchema(schema, 'output_schema')).rejects.toMatchObject({
    code: 'invalid_arguments',
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
  { $schema: 'http://json-schema.org/draft-04/schema#', id: 'a', minimum: 0, exclusiveMinimum: true },
  object({ properties: { a: { anyOf: [{ type: 'string' }], nullable: true } } }),
  object({ properties: { a: { $ref: '#/$defs/b', nullable: true } }, $defs: { b: { type: 'string' } } }),
  object({ id: 'foo', properties: { id: { type: 'string' } } }),
  object({ patternProperties: { '^[\\w\\-]+\\_$': { type: 'string' } } }),
  { items: [{ type: 'string' }, { type: 'number' }] },
  { type: 'string', pattern: '(?i)abc' },
  { enum: [] },
])('%j is one, and nothing is printed', async (schema) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  expect(await checkedSchema(schema, 'output_schema')).toBe(schema);
  expect(warn).not.toHaveBeenCalled();
});

function circular(): object {
  const schema = { type: 'object', not: {} };
  schema.not = schema;
  return schema;
}
