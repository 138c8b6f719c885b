/** Where the whole of a text is that was cut: behind a handle (or at least its first bytes), or nowhere, and why. */
export type Stored = { handle: string; onlyBytes?: number } | { problem: string };

const PROBLEM_SHOWN = 60;

/** What stands between the beginning and the end of a text whose middle was cut out, in a line of its own. */
export function cutMark(leftOut: string, stored?: Stored): string {
  return `\n[… ${leftOut} left out${whereStored(stored)} …]\n`;
}

/** How what is cut says what became of the whole. */
export function whereStored(stored: Stored | undefined): string {
  if (stored === undefined) return '';
  if ('problem' in stored) return `; not stored: ${stored.problem.slice(0, PROBLEM_SHOWN)}`;
  const part = stored.onlyBytes === undefined ? '' : `: its first ${stored.onlyBytes} bytes`;
  return `; stored as ${stored.handle}${part} (handle_read reads it)`;
}
