import { ModelError } from '../model-error.ts';

/** A script that cannot be read or played: names the file, the place in it, and the reason. Trying again is no use. */
export function scriptError(path: string, place: string, reason: string): ModelError {
  const where = place === '' ? path : `${path}, ${place}`;
  return new ModelError('script_failed', `The script ${where}: ${reason}`, {
    hint: 'Mend the script; docs/scripts.md describes its format.',
  });
}
