const BOM = '\ufeff';

/** A text as lines without their ends, and what is needed to write it again. */
export interface TextLines {
  lines: string[];
  hasBom: boolean;
  /** Between all lines; of files with both, `\n`, and the `\r` belongs to its line. */
  usualEnd: '\n' | '\r\n';
  /** The last line has an end, too. */
  endsWithNewline: boolean;
}

/** Lines keep a `\r` in front of their end where that is not the usual one. */
export function splitText(text: string): TextLines {
  const hasBom = text.startsWith(BOM);
  const body = hasBom ? text.slice(1) : text;
  const newlines = body.split('\n').length - 1;
  const crlfs = body.split('\r\n').length - 1;
  const usualEnd = crlfs > 0 && crlfs === newlines ? '\r\n' : '\n';
  const lines = body.split(usualEnd);
  const endsWithNewline = lines.at(-1) === '';
  if (endsWithNewline) lines.pop();
  return { lines, hasBom, usualEnd, endsWithNewline };
}

export function joinText({ lines, hasBom, usualEnd, endsWithNewline }: TextLines): string {
  const body = lines.join(usualEnd) + (endsWithNewline && lines.length > 0 ? usualEnd : '');
  return (hasBom ? BOM : '') + body;
}
