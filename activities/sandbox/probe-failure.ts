/** Why a program that was tried out failed, in its own words where it had any. */
export function firstLine(error: unknown): string {
  const stderr = (error as { stderr?: string }).stderr?.trim();
  const text = stderr || (error instanceof Error ? error.message : String(error));
  return text.split('\n', 1)[0] as string;
}
