import { expect, test } from 'vitest';
import { report } from '../../../cli/follow/report.ts';
import type { Invocation } from '../../../cli/invocation.ts';
import { type Format, Output } from '../../../cli/output.ts';
import { CadreError, type SessionId } from '../../../protocol/index.ts';

const ID = 'a0k3v9x2m4qd7' as SessionId;

function outputTo(format: Format) {
  const written = { stdout: '', stderr: '' };
  const into = (stream: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[stream] += text;
      return true;
    },
  });
  const output = new Output({
    format,
    level: 'info',
    color: 'never',
    stdout: into('stdout'),
    stderr: into('stderr'),
    environment: {},
  });
  return { output, written };
}

function reported(format: Format, status: 'completed' | 'errored') {
  const { output, written } = outputTo(format);
  const usage = {
    input_tokens: 1,
    cached_input_tokens: 0,
    output_tokens: 1,
    reasoning_tokens: 0,
    total_tokens: 2,
  };
  const result = { session_id: ID, status, output: 'the answer', usage };
  const unwritten = new CadreError('usage', '--output: /full/answer.txt cannot be written.');
  const code = report({ output } as Invocation, ID, { kind: 'ended', result, agents: [] }, 0, unwritten);
  return { code, ...written };
}

test('an answer that could not be written is printed all the same, in the one object with the reason', () => {
  const { code, stdout } = reported('json', 'completed');
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    output: 'the answer',
    error: { code: 'usage', message: expect.stringContaining('cannot be written') },
  });
  expect(reported('text', 'completed')).toMatchObject({
    code: 2,
    stdout: 'the answer\n',
    stderr: expect.stringContaining('cannot be written'),
  });
});

test('why a session failed counts for more than what could not be written', () => {
  const { code, stdout, stderr } = reported('json', 'errored');
  expect(code).toBe(1);
  expect(JSON.parse(stdout).error.message).toContain('ended errored');
  expect(stderr).toContain('cannot be written');
});

test.each([
  [130, 'interrupted'],
  [6, 'timeout'],
] as const)(
  'a session that was left with %i is told with who works for it now, and how to come back',
  (exitCode, code) => {
    const { output, written } = outputTo('json');
    const followed = { kind: 'left', exitCode, works: 'nobody works for it now' } as const;
    expect(report({ output } as Invocation, ID, followed, 0)).toBe(exitCode);
    expect(JSON.parse(written.stdout)).toEqual({
      session_id: ID,
      error: {
        code,
        message: `${ID} was left before its end: nobody works for it now`,
        hint: `Come back with: cadre attach ${ID}`,
        retryable: true,
      },
    });
  },
);
