/** How a line is looked at: as it is, then with ever more that does not matter left out. */
const VIEWS: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plain(line).trim(),
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
    const asked = wanted.map(view);
    for (let at = first; at <= last; at++) {
      if (asked.every((line, n) => view(lines[at + n] as string) === line)) return at;
    }
  }
  return undefined;
}
