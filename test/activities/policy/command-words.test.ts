import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { parseCommand, quote, toScript } from '../../../activities/policy/command-words.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

test('words are taken apart as a shell would, quotes and escapes resolved', () => {
  expect(parseCommand(`ls -l 'a b' "c\\"d" e\\ f ""`)).toEqual({
    ok: true,
    commands: [{ words: ['ls', '-l', 'a b', 'c"d', 'e f', ''] }],
  });
});

test('pipes, lists and line breaks separate commands', () => {
  expect(parseCommand('a | b && c || d; e\nf')).toEqual({
    ok: true,
    commands: [
      { words: ['a'] },
      { operator: '|', words: ['b'] },
      { operator: '&&', words: ['c'] },
      { operator: '||', words: ['d'] },
      { operator: ';', words: ['e'] },
      { operator: ';', words: ['f'] },
    ],
  });
});

test.each([
  'cat a > b',
  'cat <a',
  'cat a>>b',
  'cat 2>&1',
  'echo $HOME',
  'echo "$HOME"',
  'echo `id`',
  'echo "`id`"',
  'echo $(id)',
  'echo $'.concat('{x}'),
  '(id)',
  '{ id; }',
  'ls *.ts',
  'ls ?',
  'ls [a]',
  'ls ~',
  'ls ~root',
  'sleep 1 &',
  'a |& b',
  'a ;; b',
  'ls # comment',
  'echo a{b,c}',
  "echo 'open",
  'echo "open',
  'echo a\\',
  'echo a\\\nb',
  'echo "a\\\nb"',
  'a &&',
  '| a',
  'a || || b',
  '',
  '   ',
  ';',
  'a\rb',
  'a\u00a0b',
  ...['\u00a0', '\ufeff', '\u2028', '\u3000', '\r', '\v', '\f'].flatMap((blank) => [
    `${blank}a`,
    `a${blank}`,
  ]),
  'a\u0007b',
  "a 'b\0c'",
  'cat <(id)',
  'echo !$(id)',
  "echo $'\\x41'",
])('what a shell would interpret is refused: %j', (line) => {
  expect(parseCommand(line)).toMatchObject({ ok: false });
});

test('a script made of words gives a real shell exactly these words', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.string({ unit: 'grapheme' }).filter((word) => !word.includes('\0')),
        { minLength: 1, maxLength: 5 },
      ),
      (words) => {
        const script = toScript([{ words: ['printf', '%s\\n.\\n', ...words] }]);
        const output = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
        expect(output).toBe(words.map((word) => `${word}\n.\n`).join(''));
      },
    ),
    { numRuns: 30 },
  );
});

test('whatever is accepted means the same to a real shell', () => {
  const pieces = fc.constantFrom(
    'a',
    ' ',
    "'",
    '"',
    '\\',
    '|',
    ';',
    '&',
    '$',
    '`',
    '*',
    '\n',
    '#',
    '~',
    '=',
    'b',
    '(',
    '<',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const line = `printf '<%s>' ${parts.join('')}`;
      const parsed = parseCommand(line);
      fc.pre(parsed.ok && parsed.commands.length === 1);
      if (!parsed.ok) return;
      const run = (script: string) => execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
      expect(run(toScript(parsed.commands))).toBe(run(line));
    }),
    { numRuns: 60 },
  );
});

test('quoting survives quotes', () => {
  expect(quote("it's")).toBe(`'it'\\''s'`);
});

test('very many blanks within a command are read in a moment', () => {
  const begun = performance.now();
  expect(parseCommand(` ls${' \t\n'.repeat(100_000)}x\n`)).toMatchObject({ ok: false });
  // Minutes, where the time grows with the square.
  expect(performance.now() - begun).toBeLessThan(8_000);
});
