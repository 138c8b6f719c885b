import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePatch } from '../../../activities/patch/parse-patch.ts';
import { CadreError } from '../../../protocol/index.ts';

const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const ADD = patch('*** Add File: a.txt', '+one', '+', '+two');
const ADDED = [{ kind: 'add', path: 'a.txt', lines: ['one', '', 'two'] }];

test('files are added, deleted, updated and moved, in the order of the patch', () => {
  expect(
    parsePatch(
      patch(
        '*** Add File: new file.txt',
        '+x',
        '*** Delete File: old.txt',
        '*** Update File: a.ts',
        '*** Move to: b.ts',
        '@@ class A',
        '@@ method()',
        ' kept',
        '-gone',
        '+come',
        '@@',
        '+last',
        '*** End of File',
      ),
    ),
  ).toEqual([
    { kind: 'add', path: 'new file.txt', lines: ['x'] },
    { kind: 'delete', path: 'old.txt' },
    {
      kind: 'update',
      path: 'a.ts',
      moveTo: 'b.ts',
      hunks: [
        {
          anchors: ['class A', 'method()'],
          lines: [
            { kind: 'keep', text: 'kept' },
            { kind: 'remove', text: 'gone' },
            { kind: 'add', text: 'come' },
          ],
          blanksBelow: 0,
          atEnd: false,
          line: 7,
        },
        { anchors: [], lines: [{ kind: 'add', text: 'last' }], blanksBelow: 0, atEnd: true, line: 12 },
      ],
    },
  ]);
});

test.each([
  ['with CRLF', ADD.replaceAll('\n', '\r\n')],
  ['with blank lines around', `\n\n${ADD}\n \n`],
  ['with a byte order mark', `\ufeff${ADD}`],
  ['in a code fence', `\`\`\`diff\n${ADD}\n\`\`\``],
  ['in a here-document', `<<'EOF'\n${ADD}\nEOF`],
  ['in a call of a program', `apply_patch <<"PATCH"\n${ADD}\nPATCH\n`],
  ['moved to the right', ADD.replaceAll(/^/gm, '    ')],
  ['moved to the right in a code fence', `\`\`\`\n${ADD.replaceAll(/^/gm, '\t')}\n\`\`\``],
  [
    'with *** End of File below a new file',
    patch('*** Add File: a.txt', '+one', '+', '+two', '*** End of File'),
  ],
])('a patch %s is that patch', (_, text) => {
  expect(parsePatch(text)).toEqual(ADDED);
});

test('an empty line in a hunk is a kept one, and line numbers of unified diffs do not count', () => {
  const [change] = parsePatch(patch('*** Update File: a', '@@ -10,3 +10,4 @@ fn main()', ' a', '', '+b'));
  expect(change).toMatchObject({
    hunks: [{ anchors: ['fn main()'], lines: [{ text: 'a' }, { kind: 'keep', text: '' }, { kind: 'add' }] }],
  });
});

test('empty lines in front of a mark belong to nothing', () => {
  const lines = [
    ['', '*** Add File: a', '+x'],
    ['', '', '*** Delete File: b'],
    ['', '*** Update File: c', '', '*** Move to: d', '', '@@ one', '', '@@ two', '-x', '*** End of File'],
    ['', '@@', '+y', '*** End of File'],
    [''],
  ].flat();
  const changes = parsePatch(patch(...lines));
  expect(changes).toMatchObject([
    { kind: 'add', path: 'a', lines: ['x'] },
    { kind: 'delete', path: 'b' },
    { kind: 'update', path: 'c', moveTo: 'd', hunks: [{ anchors: ['one', 'two'], line: 13 }, { line: 19 }] },
  ]);
});

test('blanks in front of a mark do not count where no line of a file can stand', () => {
  const lines = [
    [' *** Add File: a', '+x', ' ', '  *** Delete File: b'],
    ['\t*** Update File: c', ' *** Move to: d', '@@', '-x', '*** End of File', ''],
    [' *** Update File: e', '@@', '-y'],
  ].flat();
  const broken = patch(...lines).replace('*** End Patch', '  *** End Patch');
  expect(parsePatch(broken)).toMatchObject([
    { kind: 'add', path: 'a', lines: ['x'] },
    { kind: 'delete', path: 'b' },
    { kind: 'update', path: 'c', moveTo: 'd', hunks: [{ lines: [{ text: 'x' }], atEnd: true }] },
    { kind: 'update', path: 'e', hunks: [{ lines: [{ text: 'y' }] }] },
  ]);
});

test('within a hunk a line behind a blank is one of the file, whatever it looks like', () => {
  const marks = ['*** Move to: d', '*** Update File: b', '@@ x', '*** End of File', '*** End Patch', 'x'];
  const [change] = parsePatch(patch('*** Update File: a', ...marks.map((mark) => ` ${mark}`), '-y'));
  expect(change).toEqual({
    kind: 'update',
    path: 'a',
    hunks: [
      expect.objectContaining({
        lines: [...marks.map((text) => ({ kind: 'keep', text })), { kind: 'remove', text: 'y' }],
      }),
    ],
  });
});

test('an anchor of nothing but blanks is none, and what git says of a last line is no line', () => {
  const note = '\\ No newline at end of file';
  const [change] = parsePatch(patch('*** Update File: a', '@@  ', '-x', note, '+y', note));
  expect(change).toMatchObject({ hunks: [{ anchors: [], lines: [{ kind: 'remove' }, { kind: 'add' }] }] });
});

test.each([
  ['', /line 1: a patch begins with \*\*\* Begin Patch/],
  ['--- a/x\n+++ b/x', /line 1: .*found "--- a\/x"/],
  ['*** Begin Patch\n*** Add File: a\n+x', /line 4: the patch has no \*\*\* End Patch/],
  [patch(), /changes no file/],
  [patch('*** Rename File: a'), /line 2: expected .*found "\*\*\* Rename File: a"/],
  [patch('*** Add File:'), /line 2: .* names no file/],
  [patch('*** Add File: a\0b'), /NUL byte/],
  [patch('*** Add File: a', '+x', '', '+y'), /line 4: every line of a new file begins with \+, found ""/],
  [patch('*** Add File: a', 'x'), /line 3: every line of a new file begins with \+/],
  [patch('*** Update File: a'), /update of a changes nothing/],
  [patch('*** Update File: a', '@@'), /a hunk has no lines/],
  [
    patch('*** Update File: a', '@@', 'x'),
    /line 4: a line of a hunk begins with a blank, \+ or -, found "x"/,
  ],
  [`${ADD}\n*** Delete File: b`, /nothing may follow/],
])('%j is refused with line and reason', (text, reason) => {
  expect(() => parsePatch(text)).toThrow(reason);
  expect(() => parsePatch(text)).toThrow(CadreError);
});

test('whatever a model sends is a patch, or a typed error', () => {
  const line = fc.oneof(
    fc.constantFrom(
      '*** Begin Patch',
      '*** End Patch',
      '@@',
      '@@ x',
      '*** End of File',
      '*** Update File: a',
    ),
    fc.constantFrom(
      '*** Add File: b',
      '*** Move to: c',
      '*** Delete File: d',
      ' x',
      '+y',
      '-z',
      '',
      '```',
      "<<'E'",
      'E',
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      try {
        expect(parsePatch(lines.join('\n')).length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(CadreError);
      }
    }),
    { numRuns: 2_000 },
  );
});
