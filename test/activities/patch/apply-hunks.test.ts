import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyHunks } from '../../../activities/patch/apply-hunks.ts';
import { parsePatch } from '../../../activities/patch/parse-patch.ts';
import { CadreError } from '../../../protocol/index.ts';

function apply(text: string, ...lines: string[]): string {
  const [change] = parsePatch(
    ['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch'].join('\n'),
  );
  if (change?.kind !== 'update') throw new Error('no update');
  return applyHunks(text, change.hunks, 'f');
}

const FILE = 'class A\n  run()\n    old\n\nclass B\n  run()\n    old\n';

test('the first place that fits is changed', () => {
  expect(apply(FILE, '@@', '   run()'.slice(1), '-    old', '+    new')).toBe(FILE.replace('old', 'new'));
});

test('lines above tell which place is meant, each below the one before', () => {
  const second = 'class A\n  run()\n    old\n\nclass B\n  run()\n    new\n';
  expect(apply(FILE, '@@ class B', '-    old', '+    new')).toBe(second);
  expect(apply(FILE, '@@ class B', '@@   run()', '-    old', '+    new')).toBe(second);
  // Repeated as the first line of the hunk.
  expect(apply(FILE, '@@ class B', ' class B', '   run()', '-    old', '+    new')).toBe(second);
});

test('the beginning of a line tells a place, where no whole line does', () => {
  const text = 'class Parsers:\n  old\nclass Parser(Base):\n  old\n';
  expect(apply(text, '@@ class Parser', '-  old', '+  new')).toBe(
    'class Parsers:\n  old\nclass Parser(Base):\n  new\n',
  );
  expect(() => apply(text, '@@ class Pars', '-  old')).toThrow(/there is no line "class Pars"/);
  expect(() => apply(text, '@@ class Parser', '-  gone')).toThrow(/there is no line " {2}gone"/);
});

test('a hunk is looked for below the one before, and then above', () => {
  expect(apply('a\nx\nb\nx\n', '@@', ' a', '-x', '+1', '@@', '-x', '+2')).toBe('a\n1\nb\n2\n');
  expect(apply('a\nb\n', '@@', '-b', '+2', '@@', '-a', '+1')).toBe('1\n2\n');
  expect(() => apply('a\n', '@@', '-a', '+1', '@@', '-a', '+2')).toThrow(/Hunk 2 of 2/);
});

test('*** End of File prefers the end, and falls back to where it fits', () => {
  expect(apply('x\ny\nx\n', '@@', '-x', '+z', '*** End of File')).toBe('x\ny\nz\n');
  expect(apply('x\ny\n', '@@', '-x', '+z', '*** End of File')).toBe('z\ny\n');
});

test('a hunk that only adds goes below its line, or to the end', () => {
  expect(apply('a\nb\n', '@@ a', '+new')).toBe('a\nnew\nb\n');
  expect(apply('a\nb\n', '@@', '+new')).toBe('a\nb\nnew\n');
  expect(apply('', '@@', '+new')).toBe('new\n');
  expect(apply('', '@@', '-', '+new')).toBe('new\n');
});

describe('what models get wrong is overlooked, and what they keep stays as it is', () => {
  test.each([
    ['blanks at the end', 'keep  \nold\t\n', [' keep', '-old', '+new'], 'keep  \nnew\n'],
    ['blanks in front', '    keep\n    old\n', [' keep', '-old', '+    new'], '    keep\n    new\n'],
    [
      'typographic signs',
      'say “hi” — it’s\nold\n',
      [' say "hi" - it\'s', '-old', '+new'],
      'say “hi” — it’s\nnew\n',
    ],
    ['an empty line at the end', 'a\nold\n', [' a', '-old', '+new', ' '], 'a\nnew\n'],
    ['letters in two parts', 'cafe\u0301\nold\n', [' caf\u00e9', '-old', '+new'], 'cafe\u0301\nnew\n'],
    ['signs that nobody sees', 'a\u200bb\nold\n', [' ab', '-old', '+new'], 'a\u200bb\nnew\n'],
  ])('%s', (_, text, lines, expected) => {
    expect(apply(text, '@@', ...lines)).toBe(expected);
  });

  test('an exact place goes before one that only looks alike', () => {
    expect(apply(' x\nx\n', '@@', '-x', '+y')).toBe(' x\ny\n');
  });
});

describe('empty lines that part hunks and files', () => {
  test.each([
    ['in front of the end', ['@@', '-x', '+y', ''], 'y\nb\n'],
    ['several', ['@@', '-x', '+y', '', '', ''], 'y\nb\n'],
    ['in front of the next hunk', ['@@', '-x', '+y', '', '@@', '-b', '+c', ''], 'y\nc\n'],
    ['in front of the next file', ['@@', '-x', '+y', '', '*** Delete File: g'], 'y\nb\n'],
    ['above *** End of File', ['@@', '-b', '+c', '', '*** End of File'], 'x\nc\n'],
    ['below *** End of File', ['@@', '-b', '+c', '*** End of File', '', '@@', '-x'], 'c\n'],
    ['in front of the first hunk', ['', '@@', '-x', '+y'], 'y\nb\n'],
    ['below an anchor with new lines', ['@@ x', '+y', ''], 'x\ny\nb\n'],
  ])('%s are none of the file', (_, lines, expected) => {
    expect(apply('x\nb\n', ...lines)).toBe(expected);
  });

  test('count where the file has them, also with one that is none of it', () => {
    const text = 'x\nb\nx\n\nc\n';
    expect(apply(text, '@@', '-x', '+y', '')).toBe('x\nb\ny\n\nc\n');
    expect(apply(text, '@@', '-x', '+y', '', '', '@@', '-c')).toBe('x\nb\ny\n\n');
    expect(() => apply('x\nb\n', '@@', '-x', '+y', ' ')).toThrow(/there is no line ""/);
  });

  test('tell no place where nothing but new lines stands above them', () => {
    expect(apply('x\n\nb\n', '@@', '+y', '')).toBe('x\n\nb\ny\n');
    expect(apply('x\n\nb\n\n', '@@ b', '+y', '')).toBe('x\n\nb\ny\n\n');
  });

  test('a hunk that does not fit without them either is told by its other lines', () => {
    expect(() => apply('x\nb\n', '@@', '-gone', '')).toThrow(/there is no line "gone"/);
  });
});

describe('the form of the file stays', () => {
  test.each([
    ['CRLF', 'a\r\nold\r\nb\r\n', 'a\r\nnew\r\nmore\r\nb\r\n'],
    ['a byte order mark', '\ufeffa\nold\nb\n', '\ufeffa\nnew\nmore\nb\n'],
    ['no newline at the end', 'a\nold\nb', 'a\nnew\nmore\nb'],
    ['line ends of both kinds', 'a\r\nold\nb\r\n', 'a\r\nnew\nmore\nb\r\n'],
  ])('%s', (_, text, expected) => {
    expect(apply(text, '@@', ' a', '-old', '+new', '+more', ' b')).toBe(expected);
  });
});

test('a hunk that fits nowhere is named with the line that is not there', () => {
  const failing = () => apply(FILE, '@@', ' class A', '@@', '-    gone', '+x');
  expect(failing).toThrow(
    /Hunk 2 of 2 for f \(line 5 of the patch\) fits nowhere: there is no line " {4}gone"/,
  );
  expect(failing).toThrow(CadreError);
  expect(() => apply(FILE, '@@ class C', '+x')).toThrow(/there is no line "class C"/);
  const blankInFront = () => apply(FILE, '@@', '-    old', '+x', ' *** Update File: g');
  expect(blankInFront).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('Behind a blank it is a line of the file') }),
  );
  expect(() => apply(FILE, '@@', ' class A', '-    old')).toThrow(/do not stand there one below the other/);
});

const line = fc.constantFrom('a', 'b', '', '  c', 'd = 1;', '}', '{');
const linesOf = fc.array(line, { maxLength: 30 });

test('a file with an edit at any place becomes the edited file', () => {
  const edit = fc.record({
    before: linesOf,
    removed: fc.array(line, { maxLength: 5 }),
    added: fc.array(line, { maxLength: 5 }),
    after: linesOf,
    end: fc.constantFrom('\n', '\r\n'),
    newline: fc.boolean(),
  });
  fc.assert(
    fc.property(edit, ({ before, removed, added, after, end, newline }) => {
      const text = (lines: string[]) => lines.join(end) + (newline && lines.length > 0 ? end : '');
      const old = [...before, ...removed, ...after];
      fc.pre(added.length + removed.length > 0 && old.length > 0 && old.at(-1) !== '');
      // A single line without an end does not tell which ends the file has.
      fc.pre(text(old).includes(end) || end === '\n');
      const wanted = [...before, ...added, ...after];
      fc.pre(wanted.length > 0 && wanted.at(-1) !== '');
      const hunk = [
        ...before.map((one) => ` ${one}`),
        ...removed.map((one) => `-${one}`),
        ...added.map((one) => `+${one}`),
        ...after.map((one) => ` ${one}`),
      ];
      expect(apply(text(old), '@@', ...hunk)).toBe(text(wanted));
    }),
    { numRuns: 1_000 },
  );
});

describe('hunks in any order', () => {
  test.each([
    ['above what is taken out', 'a\nb\nc\n', ['@@', '-b', '+B', '@@ a', '+new'], 'a\nnew\nB\nc\n'],
    [
      'above all that is taken out',
      'def f():\n    x\n    y\nend\n',
      ['@@', '-    x', '-    y', '@@ def f():', '+    first'],
      'def f():\n    first\nend\n',
    ],
    ['below what is taken out', 'a\nb\nc\n', ['@@ b', '+new', '@@', '-b', '+B'], 'a\nB\nnew\nc\n'],
    ['below all of the file', 'a\n', ['@@', '+new', '@@', '-a'], 'new\n'],
    ['at one place', 'a\nb\n', ['@@ a', '+1', '@@', '+2', ' b', '@@ a', '+3'], 'a\n1\n2\n3\nb\n'],
  ])('new lines %s stand there', (_, text, lines, expected) => {
    expect(apply(text, ...lines)).toBe(expected);
  });

  test.each([
    ['lines that are taken out twice', ['@@', '-b', '-c', '@@', '-c', '-d']],
    ['a line that is kept and taken out', ['@@', '-b', '+B', '@@', ' b', '+new']],
    ['a line that is taken out and was kept', ['@@', '+new', ' b', '@@', '-b']],
    ['new lines within what is taken out', ['@@', '-b', '-c', '@@ b', '+new']],
    ['what is taken out around new lines', ['@@ b', '+new', '@@', '-b', '-c']],
  ])('%s are refused, with both hunks', (_, lines) => {
    expect(() => apply('a\nb\nc\nd\n', ...lines)).toThrow(/Hunk 2 of 2 for f .* and hunk 1 are about/);
  });

  test('two hunks may keep the same lines', () => {
    const text = 'b\nc\na\nb\nc\n';
    expect(apply(text, '@@', '-a', '+A', ' b', '@@', ' b', '-c', '+C')).toBe('b\nc\nA\nb\nC\n');
  });

  // Of a file whose lines are all different: what becomes of each, and what comes above it.
  const change = fc.record({
    isGone: fc.boolean(),
    joined: fc.boolean(),
    puts: fc.nat(2),
    inserts: fc.array(fc.constantFrom('anchor', 'above', 'below'), { maxLength: 2 }),
  });
  const changes = fc.record({
    lines: fc.array(change, { maxLength: 8 }),
    appended: fc.nat(2),
    order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
    /** Below each hunk. */
    empty: fc.constantFrom([], [''], ['', '', '']),
  });

  /** Below a line, above one, or at the end; undefined where that line is not kept. */
  function insertion(way: string, at: number, gone: (at: number) => boolean, put: string) {
    if (way === 'anchor') return at === 0 ? undefined : [`@@ ${at - 1}.`, put];
    if (way === 'above') return gone(at) ? undefined : ['@@', put, ` ${at}.`];
    return at === 0 || gone(at - 1) ? undefined : ['@@', ` ${at - 1}.`, put];
  }

  test('give what stands for each line, and between them', () => {
    let refusals = 0;
    fc.assert(
      fc.property(changes, ({ lines, appended, order, empty }) => {
        const gone = (at: number) => lines[at]?.isGone === true;
        const inPiece = (at: number) => gone(at) && gone(at - 1) && lines[at]?.joined === true;
        const hunks: { lines: string[]; at?: number; text?: string }[] = [];
        const instead = new Map<number, string[]>();
        for (const [at, { puts, inserts }] of lines.entries()) {
          for (const [index, way] of inserts.entries()) {
            const text = `new ${at} ${index}`;
            const hunk = insertion(way, at, gone, `+${text}`);
            if (hunk !== undefined) hunks.push({ lines: hunk, at, text });
          }
          if (!gone(at) || inPiece(at)) continue;
          const piece = [`-${at}.`];
          for (let next = at + 1; inPiece(next); next++) piece.push(`-${next}.`);
          const put = Array.from({ length: puts }, (_, index) => `for ${at} ${index}`);
          instead.set(at, put);
          hunks.push({ lines: ['@@', ...piece, ...put.map((one) => `+${one}`)] });
        }
        for (let index = 0; index < appended; index++) {
          hunks.push({ lines: ['@@', `+end ${index}`], at: lines.length, text: `end ${index}` });
        }
        fc.pre(hunks.length > 0);
        const sent = hunks
          .map((hunk, index) => ({ hunk, place: order[index] as number }))
          .sort((a, b) => a.place - b.place)
          .map(({ hunk }) => hunk);
        const text = lines.map((_, at) => `${at}.\n`).join('');
        const result = () => apply(text, ...sent.flatMap((hunk) => [...hunk.lines, ...empty]));
        if (sent.some(({ at }) => at !== undefined && inPiece(at))) {
          refusals++;
          expect(result).toThrow(/are about the same lines/);
          return;
        }
        const newAt = (at: number) => sent.flatMap((hunk) => (hunk.at === at ? [hunk.text as string] : []));
        const wanted = [
          ...lines.flatMap((_, at) => [...newAt(at), ...(gone(at) ? (instead.get(at) ?? []) : [`${at}.`])]),
          ...newAt(lines.length),
        ];
        expect(result()).toBe(wanted.map((one) => `${one}\n`).join(''));
      }),
      { numRuns: 3_000 },
    );
    expect(refusals).toBeGreaterThan(10);
  });
});

test('a patch of 2,000 lines is applied to a file of 20,000 in a moment', () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n}`);
  const hunks = Array.from({ length: 500 }, (_, n) => n * 40).flatMap((n) => [
    `@@`,
    ` line ${n}`,
    `-line ${n + 1}`,
    `+changed ${n + 1}`,
    ` line ${n + 2}`,
  ]);
  const started = performance.now();
  const result = apply(`${lines.join('\n')}\n`, ...hunks);
  // Measured: 10 ms; some seconds would mean that it grows with the square.
  expect(performance.now() - started).toBeLessThan(8_000);
  expect(result.split('\n').filter((one) => one.startsWith('changed'))).toHaveLength(500);
});

test('lines that are all alike, and very many new ones, take no time worth mentioning', () => {
  const alike = 'x\n'.repeat(200_000);
  const kept = Array.from({ length: 100_000 }, () => ' x');
  const begun = performance.now();
  expect(() => apply(alike, '@@', kept.join('\n'), '-y', '+z')).toThrow(/there is no line "y"/);
  expect(apply(alike, '@@', kept.join('\n'), '-x', '+z')).toBe(
    `${'x\n'.repeat(100_000)}z\n${'x\n'.repeat(99_999)}`,
  );
  const fresh = Array.from({ length: 300_000 }, (_, index) => `+${index}`).join('\n');
  expect(apply('a\n', '@@', ' a', fresh).length).toBeGreaterThan(1_000_000);
  // Compared each with each, the first alone would take many minutes.
  expect(performance.now() - begun).toBeLessThan(60_000);
});

test('100,000 hunks at one place take no time worth mentioning', () => {
  const begun = performance.now();
  const hunks = Array.from({ length: 100_000 }, () => '@@ a\n+b').join('\n');
  expect(apply('a\n', hunks)).toBe(`a\n${'b\n'.repeat(100_000)}`);
  // Compared each with each, they would take minutes.
  expect(performance.now() - begun).toBeLessThan(30_000);
});
