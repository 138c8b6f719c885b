import { CadreError } from '../protocol/errors.ts';

/** Whether Temporal does not know the agent that was asked for. */
export function isMissing(error: unknown): error is CadreError {
  return error instanceof CadreError && error.code === 'agent_not_found';
}
