import { ERROR_CODES, type ErrorBody } from '../protocol/errors.ts';

/** The error in the output of a call that was refused, as a model reads it; undefined for any other text. */
export function refusalIn(output: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(output) as { error?: ErrorBody };
    return ERROR_CODES.some((code) => code === error?.code) ? error : undefined;
  } catch {
    return undefined;
  }
}
