import type { z } from 'zod';
import { CadreError, type ContentPart, explain, textMessage } from '../protocol/index.ts';
import { sendInputSchema } from '../protocol/messages.ts';

/** @throws CadreError `invalid_arguments`, which names `what` */
export function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new CadreError('invalid_arguments', `${what}: ${explain(result.error)}`);
}

/**
 * The same that an agent would refuse as input, before anything is done for it.
 *
 * @throws CadreError `invalid_arguments` for what is blank, too long, or no message
 */
export function checkedContent(input: string | ContentPart[], what: string): ContentPart[] {
  checked(sendInputSchema, typeof input === 'string' ? { message: input } : { items: input }, what);
  return typeof input === 'string' ? textMessage(input).content : input;
}
