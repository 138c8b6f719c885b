/** What models put around a patch: a code fence, a call of `apply_patch` with a here-document, blank lines. */
const FENCE = /^```[\w-]*\r?\n([\s\S]*?)\r?\n```$/;
const HEREDOC = /^(?:apply_patch\s*)?<<-?\s*(["']?)(\w+)\1\r?\n([\s\S]*?)\r?\n\2$/;

/** The patch itself. */
export function withoutWrapping(text: string): string {
  const trimmed = text.replace(/^\ufeff/, '').trim();
  const [, fenced] = FENCE.exec(trimmed) ?? [];
  const [, , , inside] = HEREDOC.exec(fenced ?? trimmed) ?? [];
  return (inside ?? fenced ?? trimmed).trim();
}
