import { CadreError } from '../protocol/index.ts';

/** What is wrong with a line, for whoever knows the file's name to say so. */
export function rolloutProblem(line: number, reason: string): CadreError {
  return new CadreError('rollout_invalid', `line ${line}: ${reason}`);
}

/** The same with the name of the file. */
export function problemIn(path: string, error: unknown): unknown {
  if (!(error instanceof CadreError)) return error;
  if (error.code !== 'rollout_invalid' && error.code !== 'key_missing') return error;
  return new CadreError(error.code, `${path} cannot be used: ${error.message}.`, {
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
