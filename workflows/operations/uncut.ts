import { CancellationScope, sleep } from '@temporalio/workflow';
import { bodyOf } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { Refused } from './refused.ts';

/** What is interrupted gets this long to come to its end; after two seconds an interrupted turn has ended. */
const GRACE_MS = 1_500;

/** The call was interrupted; what it has begun goes on without it. */
export class LeftBehind extends Refused {
  constructor(what: string) {
    super({
      code: 'outcome_unknown',
      message: `The call was interrupted. ${what} goes on in the background; what has come of it is unknown.`,
      hint: 'Look at list_active_agents before you try again.',
    });
  }
}

/**
 * Does what must not be cut in two, such as closing a tree. An interrupt ends the call soon, but not the work: that
 * comes to its end beside the turn, and says so in the events.
 *
 * @param what the work in words, as the beginning of a sentence
 * @throws LeftBehind when an interrupt did not wait for the end
 */
export async function uncut<T>(agent: AgentState, what: string, work: () => Promise<T>): Promise<T> {
  let state: 'under_way' | 'left_behind' | 'over' = 'under_way';
  const done = CancellationScope.nonCancellable(work);
  const watched = done.then(
    () => {},
    (error: unknown) => {
      if (state !== 'left_behind') return;
      const { message } = error instanceof Refused ? error.body : bodyOf(error);
      agent.warn(`${what} has failed after its call was interrupted: ${message}`);
    },
  );
  void agent.sideWork.track(
    watched.then(() => {
      state = 'over';
    }),
  );
  const left = CancellationScope.current().cancelRequested.catch(async (): Promise<never> => {
    await CancellationScope.nonCancellable(() => sleep(GRACE_MS));
    if (state === 'under_way') state = 'left_behind';
    throw new LeftBehind(what);
  });
  return Promise.race([done, left]);
}
