import { expect, test } from 'vitest';
import { failureOf } from '../../cli/errors.ts';
import { createProgram } from '../../cli/program.ts';
import { CadreError } from '../../protocol/errors.ts';

test('an error of Cadre keeps its code, message and hint', () => {
  const error = new CadreError('agent_not_found', 'There is no agent x', { hint: 'look', retryable: true });
  expect(failureOf(error)).toEqual({
    body: { code: 'agent_not_found', message: 'There is no agent x', hint: 'look', retryable: true },
    exitCode: 3,
  });
});

async function usage(...argv: string[]) {
  const error = await createProgram('1.2.3', () => {})
    .parseAsync(argv, { from: 'user' })
    .catch((error: unknown) => error);
  return failureOf(error);
}

test.each([
  [['bogus'], "unknown command 'bogus'"],
  [['run', '--sandbx'], "unknown option '--sandbx'"],
  [['status'], "missing required argument 'id'"],
  [['run', '--max-steps', '0', 'x'], "option '--max-steps <n>' argument '0' is invalid."],
  [['run', '-s', 'loose', 'x'], "option '-s, --sandbox <mode>' argument 'loose' is invalid."],
  [['run', 'a', 'b'], 'too many arguments'],
  [['run', 'a', '--detach', '-o', 'x'], "option '--detach' cannot be used with option '-o, --output <file>'"],
  [
    ['run', 'a', '--timeout', '1', '--detach'],
    "option '--detach' cannot be used with option '--timeout <seconds>'",
  ],
  [['server'], 'a command is missing'],
  [['help', 'nope'], "unknown command 'nope'"],
  [['server', 'help', 'nope'], "unknown command 'nope'"],
])('%j is wrong usage', async (argv, message) => {
  const { body, exitCode } = await usage(...argv);
  expect({ code: body.code, exitCode }).toEqual({ code: 'usage', exitCode: 2 });
  expect(body.message).toContain(message);
  expect(body.hint).not.toBe('');
});

test('a near miss is told in the hint', async () => {
  expect((await usage('run', '--sandbx', 'x')).body.hint).toBe('Did you mean --sandbox?');
  expect((await usage('stauts', 'x')).body.hint).toBe('Did you mean status?');
});

test.each([
  ['EACCES', 'may not be written'],
  ['EROFS', 'read-only'],
  ['ENOSPC', 'full'],
])('a disk that answers %s is told as such', (code, reason) => {
  const error = Object.assign(new Error(`${code}: x`), { code, path: '/home/me/state' });
  const { body, exitCode } = failureOf(error);
  expect(body).toMatchObject({ code: 'home_unwritable', message: expect.stringContaining(reason) });
  expect(body.message).toContain('/home/me/state');
  expect(exitCode).toBe(2);
});

test.each([[new TypeError('x is not a function')], ['a thrown text']])(
  'anything else is internal, its trace apart from the message',
  (error) => {
    const { body, exitCode } = failureOf(error);
    expect({ code: body.code, exitCode }).toEqual({ code: 'internal', exitCode: 1 });
    expect(body.message).not.toMatch(/\n\s+at /);
  },
);
