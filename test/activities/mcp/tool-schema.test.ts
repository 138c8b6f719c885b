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
  [{ properties: { a: { $ref: '#/nowhere' } } }, 'it refers to what is not there: "#/nowhere"'],
  [{ properties: { a: { items: { $ref: 'http://x/y' } } } }, 'what does not stand in it: "http://x/y"'],
  [{ properties: { a: { $ref: '#/properties/a' } } }, '"#/properties/a" refers to itself'],
  [{ properties: { a: { enum: 'a' } } }, 'its "enum" is no list at /properties/a'],
  [{ properties: { a: { description: 'x'.repeat(70_000) } } }, '65536 at most'],
])('%j is refused', (schema, message) => {
  expect(() => fittedSchema(schema)).toThrow(message);
});

test('what is referred to in the schema itself stays', () => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/a~1b' }, all: { $ref: '#' }, $ref: { type: 'string' } },
    $defs: { 'a/b': { type: 'array', items: { $ref: '#/$defs/a~1b' } } },
  };
  expect(fittedSchema(schema)).toEqual({ schema });
});

test('where what is told beside it refers to itself, the tool is offered', () => {
  const anyOf = [
    { properties: { p: { type: 'string' } } },
    { properties: { p: { $ref: '#/anyOf/0/properties/p' } } },
  ];
  expect(fittedSchema({ type: 'object', anyOf })).toEqual({
    schema: { type: 'object', properties: {} },
    besides: JSON.stringify({ anyOf }),
  });
  // What stays may not refer to what does not.
  const properties = { a: { $ref: '#/anyOf/0/properties/p' } };
  expect(() => fittedSchema({ type: 'object', properties, anyOf })).toThrow('refers to what is not there');
});

test.each([
  [{}, { $anchor: 'n' }, '#n'],
  [{}, { $id: '#n' }, '#n'],
  [{ $id: 'https://x/y' }, {}, 'https://x/y#/$defs/a~1b%25'],
  [{ $id: 'https://x/y#' }, { $anchor: 'n' }, 'https://x/y#n'],
])('with %j, %j is referred to by %j, which becomes its path', (top, named, $ref) => {
  const rest = { ...top, type: 'object', $defs: { 'a/b%': { ...named, type: 'string' } } };
  expect(fittedSchema({ ...rest, properties: { a: { $ref } } })).toEqual({
    schema: { ...rest, properties: { a: { $ref: '#/$defs/a~1b%25' } } },
  });
});

test('a schema may refer to itself by its own id', () => {
  const rest = { $id: 'https://x/y', type: 'object' };
  expect(fittedSchema({ ...rest, properties: { a: { $ref: 'https://x/y' } } }).schema).toEqual({
    ...rest,
    properties: { a: { $ref: '#' } },
  });
});

test('one that is nested without end is refused', () => {
  let schema: Record<string, unknown> = { type: 'string' };
  for (let i = 0; i < 100; i++) schema = { type: 'object', properties: { a: schema } };
  expect(() => fittedSchema(schema)).toThrow('nested more than 50 deep');
});
