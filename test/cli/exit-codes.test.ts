import { expect, test } from 'vitest';
import { exitCodeOfError, exitCodeOfOutcome, exitCodeOfWait } from '../../cli/exit-codes.ts';
import { ERROR_CODES } from '../../protocol/errors.ts';

test.each([
  ['usage', 2],
  ['config_invalid', 2],
  ['home_unwritable', 2],
  ['agent_not_found', 3],
  ['approval_not_found', 3],
  ['role_not_found', 3],
  ['unknown_tool', 3],
  ['unknown_role', 2],
  ['unknown_model', 2],
  ['approval_unavailable', 4],
  ['limit_threads', 5],
  ['limit_tokens', 5],
  ['limit_operations', 5],
  ['timeout', 6],
  ['temporal_unreachable', 69],
  ['model_unreachable', 69],
  ['interrupted', 130],
  ['ended_from_outside', 1],
  ['internal', 1],
] as const)('a command that fails with %s ends with %i', (code, exitCode) => {
  expect(exitCodeOfError(code)).toBe(exitCode);
});

test('no error ends with success', () => {
  expect(ERROR_CODES.map(exitCodeOfError)).not.toContain(0);
});

test.each([
  [{ status: 'completed' }, 0],
  [{ status: 'completed', approval_missing: true }, 0],
  [{ status: 'errored' }, 1],
  [{ status: 'errored', code: 'model_refused' }, 1],
  [{ status: 'errored', code: 'a code of a newer version' }, 1],
  [{ status: 'errored', approval_missing: true }, 4],
  [{ status: 'shutdown', approval_missing: true }, 1],
  [{ status: 'interrupted', approval_missing: true }, 130],
  [{ status: 'errored', code: 'limit_threads' }, 5],
  [{ status: 'errored', code: 'limit_steps' }, 6],
  [{ status: 'errored', code: 'limit_tokens' }, 6],
  [{ status: 'errored', code: 'limit_wall' }, 6],
  [{ status: 'errored', code: 'model_unreachable' }, 69],
  [{ status: 'interrupted' }, 130],
  [{ status: 'shutdown' }, 1],
])('a session that ended as %j gives %i', (outcome, exitCode) => {
  expect(exitCodeOfOutcome(outcome)).toBe(exitCode);
});

test.each([
  [['completed', 'completed'], false, 0],
  [['interrupted'], false, 130],
  [['completed', 'interrupted'], false, 130],
  [['interrupted', 'errored'], false, 1],
  [['errored'], false, 1],
  [['shutdown'], false, 1],
  [['errored', 'not_found'], false, 3],
  [['completed', 'not_found'], true, 3],
  [[], true, 6],
  [['errored'], true, 6],
] as const)('a wait for what ended as %j, timed out: %s, gives %i', (statuses, timedOut, exitCode) => {
  expect(exitCodeOfWait(statuses, timedOut)).toBe(exitCode);
});
