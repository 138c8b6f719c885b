import { z } from 'zod';

/** How many characters the name of a role, a persona, a model, or of what is mentioned may have. */
export const NAME_MAX = 200;
/** How many characters a path may have: no system takes a longer one. */
export const PATH_MAX = 4_096;

/** What is wrong with a text that has more characters than it may; undefined where it fits. */
export function lengthProblem(text: string, most: number): string | undefined {
  if (text.length <= most) return undefined;
  return `too long: ${withThousands(text.length)} characters, of ${withThousands(most)} at most`;
}

/** A text of so many characters at most; the refusal of a longer one says how long it is. */
export function boundedText(most: number): z.ZodString {
  return z.string().max(most, { error: ({ input }) => lengthProblem(String(input), most) });
}

function withThousands(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}
