import { expect, test } from 'vitest';
import { z } from 'zod';
import { explain } from '../../protocol/index.ts';

function told(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value);
  return error === undefined ? expect.fail('it is valid') : explain(error);
}

const text = z.string();

test.each<[z.ZodType, unknown, string]>([
  [text, 1, 'Invalid input: expected string, received number'],
  [
    z.object({ a: z.object({ b: text }) }),
    { a: {} },
    'a.b: Invalid input: expected string, received undefined',
  ],
  [
    z.object({ u: z.union([text, z.number()]) }),
    { u: {} },
    'u: Invalid input: expected string or number, received object',
  ],
  [
    z.union([z.object({ a: text }), z.object({ b: text })]),
    {},
    'Invalid input (a: expected string, received undefined, or b: expected string, received undefined)',
  ],
  [
    z.object({
      k: z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
    }),
    { k: { k: 'c' } },
    "k.k: Invalid discriminator value. Expected 'a' | 'b'",
  ],
])('an issue is told by its path and what is demanded there: %#', (schema, value, expected) => {
  expect(told(schema, value)).toBe(expected);
});

test('of thousands of issues the first are told, and how many more there are', () => {
  const problem = told(z.array(text), new Array(100_000).fill(1));
  expect(problem).toMatch(/^0: Invalid input: .*; 7: [^;]*; and 99992 more$/);
});

test('an issue that goes on and on is cut', () => {
  const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, 1]));
  expect(told(z.strictObject({}), keys)).toMatch(/^Unrecognized keys: "key0", .{300,400}…$/);
  const nested = z.union([z.union([z.union([z.union([text, z.boolean()]), text]), text]), text]);
  expect(told(nested, 1).length).toBeLessThan(1_000);
});
