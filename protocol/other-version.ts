import { CadreError } from './errors.ts';
import type { AgentId } from './ids.ts';

/** What workers say whose code asks for other things than an agent has recorded. */
const CANNOT_REPLAY = /TMPRL1100|nondeterminis/i;

/** What helps an agent that the code of another version cannot go on with, or cannot even read. */
export const OTHER_VERSION_HINT =
  'Let a worker of the version that it was begun with work for its queue again (docs/production.md, "New versions"): nothing of it is lost.';

/** Whether a worker has failed since its code asks for other things than an agent has recorded. */
export function isOfOtherVersion(message: string): boolean {
  return CANNOT_REPLAY.test(message);
}

/** An agent cannot be read, since the code of the worker that was asked cannot replay it. */
export function unreplayable(agent: AgentId | undefined, said: string, cause: unknown): CadreError {
  const why = 'the code of its worker is of another version, and cannot replay what the agent has recorded';
  return new CadreError('no_worker', `agent ${agent} does not answer: ${why}. The worker said: ${said}`, {
    hint: OTHER_VERSION_HINT,
    retryable: true,
    cause,
  });
}

/** Whether that is what was answered: what the agent was may still stand in the rollout of its session. */
export function isUnreplayable(error: unknown): error is CadreError {
  return error instanceof CadreError && error.code === 'no_worker' && isOfOtherVersion(error.message);
}
