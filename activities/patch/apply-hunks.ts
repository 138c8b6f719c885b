import { CadreError } from '../../protocol/index.ts';
import { findLines, firstMissing } from './find-lines.ts';
import type { Hunk } from './parse-patch.ts';
import { joinText, splitText } from './text.ts';

interface Replacement {
  from: number;
  /** Behind the last line that goes. */
  to: number;
  lines: string[];
}

/**
 * A text with the hunks applied. What the hunks only keep stays as the text has it, byte for byte; new lines get the
 * line ends of the text.
 *
 * @param path how the file is called in errors
 * @throws CadreError `tool_failed` that names the hunk which fits nowhere
 */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const { lines, ...form } = splitText(text);
  const replacements: Replacement[] = [];
  let from = 0;
  for (const [index, hunk] of hunks.entries()) {
    const found = place(lines, hunk, from, replacements);
    if (found === undefined) throw misplaced(hunk, { path, number: index + 1, of: hunks.length, lines });
    replacements.push(found);
    from = found.to;
  }
  const parts: (readonly string[])[] = [];
  let copied = 0;
  for (const { from: at, to, lines: put } of replacements.toSorted((a, b) => a.from - b.from)) {
    parts.push(lines.slice(copied, at), put);
    copied = to;
  }
  return joinText({ lines: [...parts, lines.slice(copied)].flat(), ...form });
}

/** Below the hunk before; a model that has them out of order is understood where nothing overlaps. */
function place(
  lines: readonly string[],
  hunk: Hunk,
  from: number,
  taken: readonly Replacement[],
): Replacement | undefined {
  for (const start of from === 0 ? [0] : [from, 0]) {
    const found = placeFrom(lines, hunk, start);
    if (found !== undefined && !taken.some((other) => overlaps(found, other))) return found;
  }
  return undefined;
}

function placeFrom(lines: readonly string[], hunk: Hunk, start: number): Replacement | undefined {
  let from = start;
  for (const anchor of hunk.anchors) {
    const at = findLines(lines, [anchor], from);
    if (at === undefined) return undefined;
    from = at + 1;
  }
  const wanted = hunk.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  if (wanted.length === 0) {
    const at = hunk.anchors.length > 0 && !hunk.atEnd ? from : lines.length;
    return replacement(lines, hunk, at);
  }
  // An anchor may be repeated as the first line of its own hunk.
  const first = hunk.anchors.length === 0 ? from : from - 1;
  for (const atEnd of hunk.atEnd ? [true, false] : [false]) {
    const at = findLines(lines, wanted, first, atEnd);
    if (at !== undefined) return replacement(lines, hunk, at);
  }
  return withoutBlankEnd(lines, hunk, first);
}

/** The end of the file may have been taken for an empty line. */
function withoutBlankEnd(lines: readonly string[], hunk: Hunk, first: number): Replacement | undefined {
  const end = hunk.lines.findLastIndex(({ kind }) => kind !== 'add');
  if (end <= 0 || hunk.lines[end]?.text !== '') return undefined;
  const shorter = { ...hunk, lines: hunk.lines.filter((_, index) => index !== end) };
  const wanted = shorter.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  const at = wanted.length === 0 ? undefined : findLines(lines, wanted, first, true);
  return at === undefined ? undefined : replacement(lines, shorter, at);
}

function replacement(lines: readonly string[], hunk: Hunk, at: number): Replacement {
  let to = at;
  const put: string[] = [];
  for (const { kind, text } of hunk.lines) {
    if (kind === 'add') put.push(text);
    else {
      if (kind === 'keep') put.push(lines[to] as string);
      to++;
    }
  }
  return { from: at, to, lines: put };
}

function overlaps(one: Replacement, other: Replacement): boolean {
  return one.from < other.to && other.from < one.to;
}

interface Place {
  path: string;
  number: number;
  of: number;
  lines: readonly string[];
}

function misplaced(
  { anchors, lines: hunkLines, line }: Hunk,
  { path, number, of, lines }: Place,
): CadreError {
  const which = of === 1 ? 'The hunk' : `Hunk ${number} of ${of}`;
  const lost = firstMissing(lines, anchors);
  const missing = hunkLines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  const gone = lost ?? firstMissing(lines, missing);
  const why =
    gone === undefined
      ? 'its lines do not stand there one below the other'
      : `there is no line ${JSON.stringify(gone.slice(0, 200))}`;
  return new CadreError(
    'tool_failed',
    `${which} for ${path} (line ${line} of the patch) fits nowhere: ${why}.`,
    {
      hint: `Nothing was changed, in no file. Read ${path} as it is now, and send the whole patch again.`,
    },
  );
}
