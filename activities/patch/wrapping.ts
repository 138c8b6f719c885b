/** What models put around a patch: a code fence, a call of `apply_patch` with a here-document, blank lines. */
const FENCE = /^```[\w-]*\r?\n([\s\S]*?)\r?\n```$/;
const HEREDOC = /^(?:apply_patch\s*)?<<-?\s*(["']?)(\w+)\1\r?\n([\s\S]*?)\r?\n\2$/;

/** The patch itself. */
export function withoutWrapping(text: string): string {
  const trimmed = unindented(text.replace(/^\ufeff/, ''));
  const [, fenced] = FENCE.exec(trimmed) ?? [];
  const [, , , inside] = HEREDOC.exec(fenced ?? trimmed) ?? [];
  return unindented(inside ?? fenced ?? trimmed);
}

/** Where every line has the blanks of the first one in front, they belong to what is around the patch. */
function unindented(text: string): string {
  const lines = text.split('\n');
  const [indent = ''] = /^[ \t]*/.exec(lines.find((line) => line.trim() !== '') ?? '') ?? [];
  const isWhole = lines.every((line) => line.startsWith(indent) || line.trim() === '');
  return (isWhole ? lines.map((line) => line.slice(indent.length)).join('\n') : text).trim();
}
