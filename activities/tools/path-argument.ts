import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';

const NUL = 'contains a NUL byte';

/** A path as a model gives it: to be resolved from the working directory. */
export const pathArgument = z
  .string()
  .min(1)
  .refine((path) => !path.includes('\0'), { error: NUL });

/** @throws CadreError `invalid_arguments` for what can be the name of nothing, whichever tool it is for */
export function checkPath(path: string): void {
  if (!path.includes('\0')) return;
  throw new CadreError('invalid_arguments', `The path ${shownName(path)} ${NUL}.`, {
    hint: 'Nothing was done. No file has such a name.',
  });
}

/** A name as it is told: quoted where line breaks or control characters would make it look like something else. */
export function shownName(name: string): string {
  if (!/[\p{Cc}\u2028\u2029]/u.test(name)) return name;
  return JSON.stringify(name).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
