/** NUL characters as their symbol: some providers refuse texts with them. */
export function withNulShown(text: string): string {
  return text.replaceAll('\0', '\u2400');
}
