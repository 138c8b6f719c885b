const loosest = (line: string): string => plain(line).trim();
/** How a line is looked at: as it is, then with ever more that does not matter left out. */
const VIEWS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  loosest,
];

/** Signs that models write in their plain form, and files hold in the typographic one, or the other way round. */
function plain(line: string): string {
  return line
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
    const at = firstPlace(lines, wanted.map(view), first, view);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** Which of the lines stands nowhere in the file, however it is looked at. */
export function firstMissing(lines: readonly string[], wanted: readonly string[]): string | undefined {
  const there = new Set(lines.map(loosest));
  return wanted.find((line) => !there.has(loosest(line)));
}

/** Knuth, Morris and Pratt over lines: many that are alike would hold up the whole worker otherwise. */
function firstPlace(
  lines: readonly string[],
  wanted: readonly string[],
  from: number,
  view: (line: string) => string,
): number | undefined {
  if (wanted.length === 0) return from <= lines.length ? from : undefined;
  const falls = fallsOf(wanted);
  let matched = 0;
  for (let at = from; at < lines.length; at++) {
    const line = view(lines[at] as string);
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
