import { expect, test } from 'vitest';
import { type Format, Output, type OutputOptions } from '../../cli/output.ts';

function recorded(options: Partial<OutputOptions> = {}, tty = false) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: tty,
    write: (text: string) => {
      written[name] += text;
      return true;
    },
  });
  const output = new Output({
    format: 'text',
    level: 'info',
    color: 'auto',
    environment: {},
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    ...options,
  });
  return { output, written };
}

test('the answer goes to stdout, everything else to stderr', () => {
  const { output, written } = recorded();
  output.info('working');
  output.warn('careful');
  output.debug('details');
  output.text('the answer');
  expect(written).toEqual({ stdout: 'the answer\n', stderr: 'working\nwarning: careful\n' });
});

test.each(['json', 'jsonl'] as Format[])(
  'with --%s an error is one JSON object on stdout, every field in it',
  (format) => {
    const { output, written } = recorded({ format });
    output.text('never shown');
    output.error({ code: 'usage', message: 'no' });
    expect(JSON.parse(written.stdout)).toEqual({
      error: { code: 'usage', message: 'no', hint: expect.stringMatching(/--help/), retryable: false },
    });
    expect(written.stderr).toBe('');
  },
);

test('as text an error goes to stderr with its hint, its trace only with --verbose', () => {
  const { output, written } = recorded();
  output.error({ code: 'usage', message: 'no', hint: 'do this' }, 'Error: no\n  at here');
  expect(written).toEqual({ stdout: '', stderr: 'error: no\n  do this\n' });
  const verbose = recorded({ level: 'debug' });
  verbose.output.error({ code: 'usage', message: 'no' }, 'Error: no\n  at here');
  expect(verbose.written.stderr).toContain('at here');
});

test('--quiet leaves the answer and errors', () => {
  const { output, written } = recorded({ level: 'error' });
  output.info('working');
  output.warn('careful');
  output.error({ code: 'usage', message: 'no', hint: 'do this' });
  output.text('answer');
  expect(written).toEqual({ stdout: 'answer\n', stderr: 'error: no\n  do this\n' });
});

test('JSON is one line in a pipe and indented on a terminal', () => {
  const piped = recorded({ format: 'json' });
  piped.output.result({ a: [1] }, 'text');
  expect(piped.written.stdout).toBe('{"a":[1]}\n');
  const terminal = recorded({ format: 'json' }, true);
  terminal.output.result({ a: [1] }, 'text');
  expect(terminal.written.stdout).toContain('\n  "a"');
});

test('on a terminal nothing that a model wrote moves the cursor or sets the title', () => {
  const text = '\u001b[2Jcleared \u001b]0;title\u0007\u009b31mred';
  const terminal = recorded({}, true);
  terminal.output.text(text);
  expect(terminal.written.stdout.trimEnd()).not.toMatch(/\p{Cc}/u);
  const piped = recorded();
  piped.output.text(text);
  expect(piped.written.stdout).toBe(`${text}\n`);
});

test.each([
  ['a pipe', {}, 'auto', false, false],
  ['a terminal', {}, 'auto', true, true],
  ['NO_COLOR', { NO_COLOR: '1' }, 'auto', true, false],
  ['a dumb terminal', { TERM: 'dumb' }, 'auto', true, false],
  ['FORCE_COLOR', { FORCE_COLOR: '1' }, 'auto', false, true],
  ['--color always', { NO_COLOR: '1' }, 'always', false, true],
  ['--color never', { FORCE_COLOR: '1' }, 'never', true, false],
] as const)('colours with %s', (_what, environment, color, tty, colored) => {
  const { output } = recorded({ environment, color }, tty);
  expect(output.colors.isColorSupported).toBe(colored);
});

test('what is drawn in place gets the lines to put above it', () => {
  const { output, written } = recorded();
  const above: string[] = [];
  output.above((line) => above.push(line));
  output.info('one');
  output.above(undefined);
  output.info('two');
  expect({ above, stderr: written.stderr }).toEqual({ above: ['one'], stderr: 'two\n' });
});
