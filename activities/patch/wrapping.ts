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

const PROGRAM = ['apply_patch', 'applypatch'];

/**
 * The patch in a command that does nothing but apply one, as models write it where they are used to a program of that
 * name; undefined for any other command.
 */
export function patchInCommand(command: string | readonly string[]): string | undefined {
  if (typeof command !== 'string') {
    const [program = '', argument = ''] = command;
    if (/^(?:\/\S+\/)?(?:ba|z)?sh$/.test(program) && command.length === 3 && /^-l?c$/.test(argument)) {
      return patchInCommand(command[2] ?? '');
    }
    return command.length === 2 && PROGRAM.includes(program) ? argument : undefined;
  }
  const line = command.trim();
  const program = PROGRAM.find((name) => line.startsWith(name));
  if (program === undefined) return undefined;
  const [, , , inside] = HEREDOC.exec(line.slice(program.length).trim()) ?? [];
  return inside;
}
