import { CadreError } from '../../protocol/index.ts';
import { withoutWrapping } from './wrapping.ts';

/** One line of a hunk: kept as it is, taken out, or put in. */
export interface HunkLine {
  kind: 'keep' | 'remove' | 'add';
  text: string;
}

/** Lines of a file that change together, and where they are. */
export interface Hunk {
  /** Lines above it, each below the one before, that say where to look: `@@ class Parser`. */
  anchors: string[];
  lines: HunkLine[];
  /** How many of the last lines are empty without the blank of a kept line: they may only part it from what follows. */
  blanksBelow: number;
  /** It stands at the end of the file. */
  atEnd: boolean;
  /** Of the patch, counted from 1: where it begins. */
  line: number;
}

export type FileChange =
  | { kind: 'add'; path: string; lines: string[] }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; moveTo?: string; hunks: Hunk[] };

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const ADD = '*** Add File:';
const DELETE = '*** Delete File:';
const UPDATE = '*** Update File:';
const MOVE = '*** Move to:';
const END_OF_FILE = '*** End of File';
const ANCHOR = '@@';

/**
 * The changes that a patch asks for, in its order. The format is the one that OpenAI's models are trained on
 * (`*** Begin Patch` to `*** End Patch`).
 *
 * @throws CadreError `invalid_arguments` that names the line which cannot stand there
 */
export function parsePatch(text: string): FileChange[] {
  const lines = new PatchLines(withoutWrapping(text));
  const changes: FileChange[] = [];
  lines.refuseNul();
  lines.expect(BEGIN);
  lines.skipToMark();
  while (!lines.takes(END)) {
    changes.push(fileChange(lines));
    lines.skipToMark();
  }
  if (lines.peek() !== undefined) throw lines.problem(`nothing may follow ${END}`);
  if (changes.length === 0) throw lines.problem('the patch changes no file');
  return changes;
}

function fileChange(lines: PatchLines): FileChange {
  const added = lines.path(ADD);
  if (added !== undefined) return { kind: 'add', path: added, lines: contentOf(lines) };
  const deleted = lines.path(DELETE);
  if (deleted !== undefined) return { kind: 'delete', path: deleted };
  const path = lines.path(UPDATE);
  if (path !== undefined) return update(lines, path);
  const found = lines.peek();
  if (found === undefined) throw lines.problem(`the patch has no ${END}: it may have been cut off`);
  throw lines.problem(`expected ${ADD}, ${UPDATE}, ${DELETE} or ${END}, found ${quoted(found)}`);
}

function contentOf(lines: PatchLines): string[] {
  const content: string[] = [];
  for (let line = lines.peek(); line?.startsWith('+'); line = lines.peek()) {
    content.push(line.slice(1));
    lines.next();
  }
  lines.takes(END_OF_FILE);
  lines.skipToMark();
  const after = lines.peek();
  if (after !== undefined && !after.trimStart().startsWith('*** ')) {
    throw lines.problem(`every line of a new file begins with +, found ${quoted(after)}`);
  }
  return content;
}

function update(lines: PatchLines, path: string): FileChange {
  lines.skipBlanks();
  const moveTo = isMove(lines) ? lines.path(MOVE) : undefined;
  const hunks: Hunk[] = [];
  lines.skipBlanks();
  while (!endsFile(lines.peek())) {
    const found = hunk(lines);
    hunks.push(found);
    if (found.atEnd) lines.skipToMark();
    else lines.skipBlanks();
    if (found.atEnd && endsFile(lines.peek()?.trimStart())) break;
  }
  if (hunks.length === 0 && moveTo === undefined)
    throw lines.problem(`the update of ${path} changes nothing`);
  return { kind: 'update', path, ...(moveTo === undefined ? {} : { moveTo }), hunks };
}

/** With blanks in front it is a kept line of the first hunk, unless that begins below it. */
function isMove(lines: PatchLines): boolean {
  return lines.peek()?.startsWith(MOVE) === true || isMark(lines.peek(1));
}

function hunk(lines: PatchLines): Hunk {
  const found: Hunk = { anchors: [], lines: [], blanksBelow: 0, atEnd: false, line: lines.number };
  for (let line = lines.peek(); line?.startsWith(ANCHOR); line = lines.peek()) {
    const anchor = anchorOf(line);
    if (anchor !== '') found.anchors.push(anchor);
    lines.next();
    lines.skipBlanks();
  }
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith(ANCHOR) || endsFile(line)) break;
    lines.next();
    if (line.trimEnd() === END_OF_FILE) {
      found.atEnd = true;
      break;
    }
    // Of diffs by git; what the file ends with stays.
    if (line.startsWith('\\ No newline at end of file')) continue;
    found.lines.push(hunkLine(line, lines));
    found.blanksBelow = line === '' ? found.blanksBelow + 1 : 0;
  }
  if (found.lines.length === 0) throw lines.problem('a hunk has no lines');
  return found;
}

/** `@@ -1,3 +1,4 @@ text` of a unified diff tells line numbers too; models guess them, so only the text counts. */
function anchorOf(line: string): string {
  const [, text] = /^@@(?: -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)?(.*)$/s.exec(line) ?? [];
  return (text ?? '')
    .replace(/^ /, '')
    .replace(/ ?@@\s*$/, '')
    .trimEnd();
}

function hunkLine(line: string, lines: PatchLines): HunkLine {
  const text = line.slice(1);
  switch (line[0]) {
    case ' ':
      return { kind: 'keep', text };
    case '-':
      return { kind: 'remove', text };
    case '+':
      return { kind: 'add', text };
    // An empty line whose blank in front was lost on the way; or, at the end, none of the file.
    case undefined:
      return { kind: 'keep', text: '' };
    default:
      throw lines.problem(`a line of a hunk begins with a blank, + or -, found ${quoted(line)}`, -1);
  }
}

/** No line of a file can look like it. */
function isMark(line: string | undefined): boolean {
  return endsFile(line) || line?.startsWith(ANCHOR) === true || line?.startsWith(MOVE) === true;
}

function endsFile(line: string | undefined): boolean {
  if (line === undefined) return true;
  return line.trimEnd() === END || [ADD, DELETE, UPDATE].some((mark) => line.startsWith(mark));
}

function quoted(line: string): string {
  return JSON.stringify(line.length <= 100 ? line : `${line.slice(0, 99)}…`);
}

/** The lines of a patch, read from the first to the last. */
class PatchLines {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(text: string) {
    const lines = text.split(/\r?\n/);
    // Nothing else can be the last line, so blanks in front of it make no kept line of it.
    if (lines.at(-1)?.trim() === END) lines.splice(-1, 1, END);
    this.#lines = lines;
  }

  /** Counted from 1. */
  get number(): number {
    return this.#at + 1;
  }

  peek(ahead = 0): string | undefined {
    return this.#lines[this.#at + ahead];
  }

  next(): void {
    this.#at++;
  }

  /** Empty lines in front of a mark, which belong to nothing. */
  skipBlanks(): void {
    this.#skip((line) => line);
  }

  /** Where no line of a file can stand, so that blanks in a line, or in front of a mark, say nothing. */
  skipToMark(): void {
    this.#skip((line) => line.trimStart());
  }

  #skip(seen: (line: string) => string): void {
    let at = this.#at;
    let line = this.peek();
    while (line !== undefined && seen(line) === '') line = this.#lines[++at];
    if (line !== undefined && isMark(seen(line))) this.#at = at;
  }

  takes(mark: string): boolean {
    if (this.peek()?.trim() !== mark) return false;
    this.next();
    return true;
  }

  expect(mark: string): void {
    if (this.takes(mark)) return;
    throw this.problem(`a patch begins with ${mark}, found ${quoted(this.peek() ?? '')}`);
  }

  /** Neither names nor texts have it, and a file that got one could not be patched again. */
  refuseNul(): void {
    const at = this.#lines.findIndex((line) => line.includes('\0'));
    if (at >= 0) throw this.problem('it contains a NUL byte, and patches are for text', at);
  }

  path(mark: string): string | undefined {
    const line = this.peek()?.trimStart();
    if (line?.startsWith(mark) !== true) return undefined;
    const path = line.slice(mark.length).trim();
    if (path === '') throw this.problem(`${mark} names no file`);
    this.next();
    return path;
  }

  problem(reason: string, offset = 0): CadreError {
    return new CadreError(
      'invalid_arguments',
      `The patch is broken at line ${this.number + offset}: ${reason}.`,
      {
        hint: 'Nothing was changed. Send the whole patch again.',
      },
    );
  }
}
