import { CadreError } from '../../protocol/index.ts';
import { findAnchor, findLines, firstMissing } from './find-lines.ts';
import type { Hunk } from './parse-patch.ts';
import { type Edit, type Placed, TakenLines } from './taken-lines.ts';
import { joinText, splitText } from './text.ts';

/**
 * A text with the hunks applied. What the hunks only keep stays as the text has it, byte for byte; new lines get the
 * line ends of the text. Each hunk is about the text as it was, so their order does not matter, but for new lines at the
 * same place: these come in the order of the hunks, above what stands for lines that are taken out below.
 *
 * @param path how the file is called in errors
 * @throws CadreError `tool_failed` that names the hunk which fits nowhere, or not beside another one
 */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const { lines, ...form } = splitText(text);
  const taken = new TakenLines(lines.length);
  const edits: Edit[] = [];
  let before: Placed | undefined;
  for (const [index, hunk] of hunks.entries()) {
    const [meant, found] = placeAsMeant(lines, hunk, before, taken);
    if (!('edits' in found)) {
      throw misplaced(meant, { path, number: index + 1, of: hunks.length, lines, ...found });
    }
    taken.take(found, index + 1);
    for (const edit of found.edits) edits.push(edit);
    before = found;
  }
  const parts: (readonly string[])[] = [];
  let copied = 0;
  for (const { from, to, lines: put } of edits.sort((a, b) => a.from - b.from || a.to - b.to)) {
    parts.push(lines.slice(copied, from), put);
    copied = to;
  }
  return joinText({ lines: [...parts, lines.slice(copied)].flat(), ...form });
}

/** Its last empty lines count where they fit, all or but for one; else they only part it from what follows. */
function placeAsMeant(
  lines: readonly string[],
  hunk: Hunk,
  before: Placed | undefined,
  taken: TakenLines,
): [Hunk, ReturnType<typeof place>] {
  const blanks = Math.min(hunk.blanksBelow, hunk.lines.length - 1);
  // Behind lines that are only put in they tell no place: the file's next empty line is anywhere.
  const onlyAdds = blanks > 0 && hunk.lines.slice(0, -blanks).every(({ kind }) => kind === 'add');
  let meant = onlyAdds ? { ...hunk, lines: hunk.lines.slice(0, -blanks) } : hunk;
  let found = place(lines, meant, before, taken);
  for (const left of new Set([Math.min(1, blanks), blanks])) {
    if ('edits' in found || left === 0 || onlyAdds) break;
    meant = { ...hunk, lines: hunk.lines.slice(0, -left) };
    found = place(lines, meant, before, taken);
  }
  return [meant, found];
}

/**
 * Below the hunk before, else with the lines that this one keeps at its end; a model that has them out of order is
 * understood where nothing is in the way.
 */
function place(
  lines: readonly string[],
  hunk: Hunk,
  before: Placed | undefined,
  taken: TakenLines,
): Placed | { beside?: number } {
  const starts = new Set(before === undefined ? [0] : [before.to, before.edits.at(-1)?.to ?? before.to, 0]);
  let beside: number | undefined;
  for (const start of starts) {
    const found = placeFrom(lines, hunk, start);
    if (found === undefined) continue;
    const conflict = taken.conflict(found);
    if (conflict === undefined) return found;
    beside ??= conflict;
  }
  return beside === undefined ? {} : { beside };
}

function placeFrom(lines: readonly string[], hunk: Hunk, start: number): Placed | undefined {
  let from = start;
  for (const anchor of hunk.anchors) {
    const at = findAnchor(lines, anchor, from);
    if (at === undefined) return undefined;
    from = at + 1;
  }
  const wanted = hunk.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  if (wanted.length === 0) {
    const at = hunk.anchors.length > 0 && !hunk.atEnd ? from : lines.length;
    return placedAt(hunk, at);
  }
  // An anchor may be repeated as the first line of its own hunk.
  const first = hunk.anchors.length === 0 ? from : from - 1;
  for (const atEnd of hunk.atEnd ? [true, false] : [false]) {
    const at = findLines(lines, wanted, first, atEnd);
    if (at !== undefined) return placedAt(hunk, at);
  }
  return withoutBlankEnd(lines, hunk, first);
}

/** The end of the file may have been taken for an empty line. */
function withoutBlankEnd(lines: readonly string[], hunk: Hunk, first: number): Placed | undefined {
  const end = hunk.lines.findLastIndex(({ kind }) => kind !== 'add');
  if (end < 0 || hunk.lines[end]?.text !== '') return undefined;
  const shorter = { ...hunk, lines: hunk.lines.filter((_, index) => index !== end) };
  const wanted = shorter.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  const isNowhere = wanted.length === 0 && lines.length > 0;
  const at = isNowhere ? undefined : findLines(lines, wanted, first, true);
  return at === undefined ? undefined : placedAt(shorter, at);
}

/** What it changes in one piece is one edit: lines that go, and those that come for them. */
function placedAt(hunk: Hunk, from: number): Placed {
  const edits: Edit[] = [];
  let to = from;
  let open: Edit | undefined;
  for (const { kind, text } of hunk.lines) {
    if (kind === 'keep') {
      open = undefined;
      to++;
      continue;
    }
    if (open === undefined) {
      open = { from: to, to, lines: [] };
      edits.push(open);
    }
    if (kind === 'add') open.lines.push(text);
    else open.to = ++to;
  }
  return { from, to, edits };
}

interface Place {
  path: string;
  number: number;
  of: number;
  lines: readonly string[];
  /** The hunk in whose way it would be. */
  beside?: number;
}

function misplaced(
  { anchors, lines: hunkLines, line }: Hunk,
  { path, number, of, lines, beside }: Place,
): CadreError {
  const which = of === 1 ? 'The hunk' : `Hunk ${number} of ${of}`;
  if (beside !== undefined) {
    return new CadreError(
      'tool_failed',
      `${which} for ${path} (line ${line} of the patch) and hunk ${beside} are about the same lines: what one takes out, the other takes out or keeps too, or adds lines in between.`,
      { hint: 'Nothing was changed, in no file. Make one hunk of both, and send the whole patch again.' },
    );
  }
  const lost = anchors.find((anchor) => findAnchor(lines, anchor, 0) === undefined);
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
      hint: `Nothing was changed, in no file. ${adviceFor(gone, path)}, and send the whole patch again.`,
    },
  );
}

function adviceFor(missing: string | undefined, path: string): string {
  return missing !== undefined && /^\s*(?:\*\*\* |@@)/.test(missing)
    ? 'Behind a blank it is a line of the file: take that away'
    : `Read ${path} as it is now`;
}
