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

test('an optional argument that is given as null counts as left out, wherever the schema has no meaning for null', async () => {
  const schema = z
    .strictObject({
      cmd: z.union([z.string(), z.array(z.string())]),
      workdir: z.string().optional(),
      wait: z.int().default(7),
      part: z.strictObject({ start: z.int().default(0), end: z.int().optional() }).optional(),
      words: z.array(z.string()).optional(),
      parent: z.string().nullable().optional(),
    })
    .refine(({ workdir }) => workdir !== 'refused', { error: 'is checked' });
  const given = (args: object) => parseArguments({ name: 'own', parameters: schema }, JSON.stringify(args));
  expect(
    await given({ cmd: 'ls', workdir: null, wait: null, part: { start: 1, end: null }, parent: null }),
  ).toEqual({ value: { cmd: 'ls', wait: 7, part: { start: 1 }, parent: null } });

  const refused = (message: string) => ({
    error: { code: 'invalid_arguments', message: expect.stringContaining(message) },
  });
  expect(await given({ cmd: null })).toMatchObject(refused('cmd: '));
  expect(await given({ cmd: 'ls', other: null })).toMatchObject(refused('"other"'));
  expect(await given({ cmd: 'ls', words: [null] })).toMatchObject(refused('words.0: '));
  expect(await given({ cmd: 'ls', wait: null, workdir: 'refused' })).toMatchObject(refused('is checked'));
});

test('so does an empty text where the schema takes none, and what is needed is told as it was given', async () => {
  const parameters = z.strictObject({
    path: z.string().min(1),
    include: z.string().min(1).optional(),
    limit: z.int().default(7),
    kind: z.enum(['a', 'b']).optional(),
    note: z.string().optional(),
    list: z.array(z.strictObject({ step: z.string().min(1) })).optional(),
  });
  const given = (args: object) => parseArguments({ name: 'own', parameters }, JSON.stringify(args));
  expect(await given({ path: 'a', include: '', limit: '', kind: '', note: '' })).toEqual({
    value: { path: 'a', limit: 7, note: '' },
  });
  const told = async (args: object) => {
    const result = await given(args);
    return 'error' in result ? result.error.message.replace('failed to parse function arguments: ', '') : '';
  };
  expect(await told({ path: '', include: '' })).toBe(
    'path: Too small: expected string to have >=1 characters',
  );
  expect(await told({ path: null, kind: null })).toBe('path: Invalid input: expected string, received null');
  expect(await told({ path: 'a', list: [{ step: '' }] })).toMatch(/^list\.0\.step: Too small/);
});

test('what may be of several kinds, and is of none, is told with all of them', async () => {
  const parameters = z.strictObject({ command: z.union([z.string(), z.array(z.string()).min(1)]) });
  const told = async (json: string) => {
    const result = await parseArguments({ name: 'own', parameters }, json);
    return 'error' in result ? result.error.message : undefined;
  };
  expect(await told('{}')).toBe(
    'failed to parse function arguments: command: Invalid input: expected string or array, received undefined',
  );
  expect(await told('{"command":7}')).toContain(
    'command: Invalid input: expected string or array, received number',
  );
});
