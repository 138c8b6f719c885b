type View = (line: string) => string;
const loosest: View = (line) => plain(line).trim();
/** How a line is looked at: as it is, then with ever more that does not matter left out. */
const VIEWS: readonly View[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim(), loosest];

/** Signs that models write in their plain form, and files hold in the typographic one, or the other way round. */
function plain(line: string): string {
  return line
    .normalize('NFC')
    .replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u2018-\u201b\u2032]/g, "'")
    .replace(/[\u201c-\u201f\u2033]/g, '"')
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
    .replace(/\u2026/g, '...');
}

/**
 * Where the lines stand one below the other: the first place that fits as they are, else the first that fits with blanks
 * at the end, around, and typographic signs left out of account.
 *
 * @param from the first line that counts, from 0
 * @param atEnd they have to be the last lines of the file
 * @returns the line, from 0; undefined when they are nowhere
 */
export function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  atEnd = false,
): number | undefined {
  if (wanted.length > lines.length) return undefined;
  const last = lines.length - wanted.length;
  const first = atEnd ? Math.max(from, last) : from;
  for (const view of VIEWS) {
    const at = firstPlace(viewOf(lines, view), wanted.map(view), first);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** Of a file, which many hunks are looked for in. */
const VIEWED = new WeakMap<readonly string[], Map<View, readonly string[]>>();

function viewOf(lines: readonly string[], view: View): readonly string[] {
  const views = VIEWED.get(lines) ?? new Map<View, readonly string[]>();
  const viewed = views.get(view) ?? lines.map(view);
  VIEWED.set(lines, views.set(view, viewed));
  return viewed;
}

/**
 * Where a line stands that tells a place: whole, or its beginning alone, as `class Parser` of `class Parser(Base):`.
 *
 * @returns the line, from 0; undefined when it is nowhere
 */
export function findAnchor(lines: readonly string[], anchor: string, from: number): number | undefined {
  const whole = findLines(lines, [anchor], from);
  if (whole !== undefined) return whole;
  const wanted = loosest(anchor);
  const begins = (line: string) => line.startsWith(wanted) && !/^\w/.test(line.slice(wanted.length));
  const at = viewOf(lines, loosest).slice(from).findIndex(begins);
  return at < 0 ? undefined : from + at;
}

/** Which of the lines stands nowhere in the file, however it is looked at. */
export function firstMissing(lines: readonly string[], wanted: readonly string[]): string | undefined {
  const there = new Set(viewOf(lines, loosest));
  return wanted.find((line) => !there.has(loosest(line)));
}

/** Knuth, Morris and Pratt over lines: many that are alike would hold up the whole worker otherwise. */
function firstPlace(lines: readonly string[], wanted: readonly string[], from: number): number | undefined {
  if (wanted.length === 0) return from <= lines.length ? from : undefined;
  const falls = fallsOf(wanted);
  let matched = 0;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at];
    while (matched > 0 && line !== wanted[matched]) matched = falls[matched - 1] as number;
    if (line === wanted[matched]) matched++;
    if (matched === wanted.length) return at - matched + 1;
  }
  return undefined;
}

/** For each line, how many of the first lines still match when the next one does not. */
function fallsOf(wanted: readonly string[]): number[] {
  const falls = [0];
  let matched = 0;
  for (const line of wanted.slice(1)) {
    while (matched > 0 && line !== wanted[matched]) matched = falls[matched - 1] as number;
    if (line === wanted[matched]) matched++;
    falls.push(matched);
  }
  return falls;
}
