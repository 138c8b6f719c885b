import { expect, test } from 'vitest';
import { fittedSchema } from '../../../activities/mcp/tool-schema.ts';

test('a schema stays as its server has it', () => {
  const schema = {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'Where' },
      tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/tag' }] } },
    },
    required: ['path'],
    additionalProperties: false,
    $defs: { tag: { type: ['object', 'null'], properties: { name: true } } },
  };
  expect(fittedSchema({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema })).toEqual({ schema });
});

test('what providers demand is added, and what they refuse at the top is told beside it', () => {
  expect(fittedSchema({})).toEqual({ schema: { type: 'object', properties: {} } });
  expect(fittedSchema({ type: 'object', properties: { list: { type: 'array' } } }).schema).toEqual({
    type: 'object',
    properties: { list: { type: 'array', items: {} } },
  });
  const either = [{ required: ['a'] }, { required: ['b'] }];
  expect(fittedSchema({ type: 'object', properties: { a: {}, b: {} }, anyOf: either })).toEqual({
    schema: { type: 'object', properties: { a: {}, b: {} } },
    besides: JSON.stringify({ anyOf: either }),
  });
});

test.each([
  ['none', 'it is no object'],
  [[], 'it is no object'],
  [{ type: 'string' }, 'its type is not "object"'],
  [{ properties: [] }, 'its "properties" is no object'],
  [{ properties: { a: 'string' } }, 'there is no schema at /properties/a'],
  [{ properties: { a: { type: 'strnig' } } }, 'no type of JSON schema at /properties/a: "strnig"'],
  [{ required: 'a' }, 'its "required" is no list of names'],
  [{ properties: { a: { enum: 'a' } } }, 'its "enum" is no list at /properties/a'],
  [{ properties: { a: { description: 'x'.repeat(70_000) } } }, '65536 at most'],
])('%j is refused', (schema, message) => {
  expect(() => fittedSchema(schema)).toThrow(message);
});

test('one that is nested without end is refused', () => {
  let schema: Record<string, unknown> = { type: 'string' };
  for (let i = 0; i < 100; i++) schema = { type: 'object', properties: { a: schema } };
  expect(() => fittedSchema(schema)).toThrow('nested more than 50 deep');
});
