import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import {
  MESSAGE_BYTES_MAX,
  operateSchema,
  parsePayload,
  sendInputArguments,
  sendInputPayloadSchema,
  sizeProblem,
  spawnAgentArguments,
} from '../../protocol/index.ts';

const LARGEST = 'x'.repeat(MESSAGE_BYTES_MAX);
/** Fewer characters than there may be bytes. */
const UMLAUTS = 'ä'.repeat(MESSAGE_BYTES_MAX / 2 + 1);
const text = (text: string) => ({ type: 'text' as const, text });

test('the size of a message is that of its bytes, and what is too large by one looks it', () => {
  expect(sizeProblem(LARGEST)).toBeUndefined();
  expect(sizeProblem(`${LARGEST}x`)).toBe('too large: 1.01 MB, of 1.00 MB at most');
  expect(sizeProblem(UMLAUTS)).toBe('too large: 1.01 MB, of 1.00 MB at most');
  expect(sizeProblem([text(LARGEST), { type: 'image', image_url: `data:${LARGEST}` }])).toBeUndefined();
  expect(sizeProblem([text(LARGEST), text('x')])).toContain('too large');
});

test('for any text it is Node’s own count that decides', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (unit) => {
      const long = unit.repeat(Math.ceil(MESSAGE_BYTES_MAX / Buffer.byteLength(unit)));
      const whole = Buffer.byteLength(long) > MESSAGE_BYTES_MAX;
      expect(sizeProblem(long) !== undefined).toBe(whole);
      expect(sizeProblem(`${long}${unit}`)).toBeDefined();
    }),
    { numRuns: 20 },
  );
});

const borders: [name: string, z.ZodType<unknown>, payloadOf: (message: string) => unknown][] = [
  ['a signal', sendInputPayloadSchema, (message) => ({ message })],
  ['a signal that is a bare string', sendInputPayloadSchema, (message) => message],
  ['a signal of parts', sendInputPayloadSchema, (message) => ({ items: [text(message), text('')] })],
  ['spawn_agent', spawnAgentArguments, (message) => ({ message })],
  ['send_input', sendInputArguments, (message) => ({ id: 'a', items: [text(message)] })],
  ['a call by hand', operateSchema, (json) => ({ operation: 'call', tool: 'shell', arguments: json })],
];

test.each(borders)(
  '%s takes what fits, and refuses the rest in the same words',
  (_name, schema, payloadOf) => {
    expect(parsePayload(schema, payloadOf(LARGEST))).toMatchObject({ ok: true });
    for (const large of [`${LARGEST}x`, UMLAUTS]) {
      expect(parsePayload(schema, payloadOf(large))).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/too large: 1\.01 MB, of 1\.00 MB at most\. Put it into a file/),
      });
    }
  },
);
