import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseArguments } from '../../../activities/tools/parse-arguments.ts';

const parsed = (parameters: z.ZodType, limitMs?: number) =>
  parseArguments({ name: 'own', parameters }, '{}', limitMs);
const empty = z.strictObject({});

test('a check that throws is told to the model, by the name of the tool', async () => {
  const throwing = empty.refine(() => {
    throw new Error('in refine');
  });
  const mute = empty.refine(() => {
    throw Object.create(null);
  });
  expect(await parsed(throwing)).toMatchObject({
    error: { code: 'tool_failed', message: 'The check of the arguments of own failed: in refine' },
  });
  expect(await parsed(mute)).toMatchObject({ error: { code: 'tool_failed' } });
  const rejecting = empty.refine(() => Promise.reject(new Error('no database')));
  expect(await parsed(rejecting)).toMatchObject({
    error: { code: 'tool_failed', message: expect.stringContaining('no database') },
  });
});

test('a check may wait for something, but not for ever', async () => {
  const waiting = (passes: boolean) => empty.refine(async () => passes, { error: 'is no such host' });
  expect(await parsed(waiting(true))).toEqual({ value: {} });
  expect(await parsed(waiting(false))).toMatchObject({
    error: { code: 'invalid_arguments', message: expect.stringContaining('is no such host') },
  });
  expect(await parsed(empty.transform(async () => 7))).toEqual({ value: 7 });
  expect(
    await parsed(
      empty.refine(() => new Promise(() => {})),
      500,
    ),
  ).toMatchObject({
    error: { code: 'tool_failed', message: expect.stringContaining('did not end within 500 ms') },
  });
});
