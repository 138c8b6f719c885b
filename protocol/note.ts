import { z } from 'zod';
import { lengthProblem } from './text-length.ts';

/** How many characters a note may have, once it is trimmed. */
export const NOTE_MAX = 1_000;

/** A note as somebody gives it: trimmed, and refused where it is too long; a blank one clears it. */
export const noteSchema = z
  .string()
  .trim()
  .max(NOTE_MAX, { error: ({ input }) => lengthProblem(String(input), NOTE_MAX) });

/** The note as it is kept: trimmed, nothing for a blank one. */
export function normalizeNote(note: string): string | undefined {
  const trimmed = note.trim();
  return trimmed === '' ? undefined : trimmed;
}

/** A note that nobody could say in fewer words: what is too long ends in a mark. */
export function fittingNote(note: string): string | undefined {
  const trimmed = note.trim();
  return normalizeNote(trimmed.length <= NOTE_MAX ? trimmed : `${trimmed.slice(0, NOTE_MAX - 1)}…`);
}
