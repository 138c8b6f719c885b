import { z } from 'zod';

/** The end of what a model says while it still says it, as its call's heartbeats carry it. */
export interface StreamedText {
  text: string;
  /** Where `text` begins in the whole answer, in characters. */
  offset: number;
}

export const streamedTextSchema: z.ZodType<StreamedText> = z.object({
  text: z.string(),
  offset: z.int().nonnegative(),
});
