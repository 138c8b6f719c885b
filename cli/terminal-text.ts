import { stripVTControlCharacters } from 'node:util';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text from a model or a command without anything that a terminal would obey; line breaks and tabs stay. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replace(CONTROL, '');
}

/** The text in one line, cut with an ellipsis. */
export function oneLine(text: string, length = 200): string {
  const line = harmless(text).replace(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= length ? line : `${characters.slice(0, length - 1).join('')}…`;
}

/** `950`, `3.2k`, `1.4M`. */
export function formatCount(count: number): string {
  if (count < 1_000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1_000, 'k'] : [count / 1_000_000, 'M'];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)}${unit}`;
}

/** Columns as wide as their widest cell; the last one is not padded. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, stripVTControlCharacters(cell).length);
    });
  }
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const padding = (widths[i] ?? 0) - stripVTControlCharacters(cell).length;
        return i === row.length - 1 ? cell : cell + ' '.repeat(padding);
      })
      .join('  ')
      .trimEnd(),
  );
}
