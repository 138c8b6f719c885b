import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { CadreError, counted, type ErrorBody, type SessionId } from '../protocol/index.ts';
import { fullError } from './full-error.ts';

/** A session that could not be asked, and why. */
export interface NotAsked {
  session_id: SessionId;
  error: Required<ErrorBody>;
}

export interface Asked<T> {
  answers: T[];
  notAsked: NotAsked[];
}

/**
 * Asks many sessions the same, side by side. One that has closed meanwhile has nothing to say; every other one that
 * fails is named.
 *
 * @param atOnce so many at the same time
 */
export async function askSessions<T>(
  sessions: readonly SessionId[],
  ask: (session: SessionId) => Promise<T>,
  atOnce: number,
): Promise<Asked<T>> {
  const limit = pLimit(atOnce);
  const each = sessions.map((session) =>
    limit(async (): Promise<Partial<Asked<T>>> => {
      try {
        return { answers: [await ask(session)] };
      } catch (error) {
        if (!(error instanceof CadreError)) throw error;
        const hasClosed = error.code === 'agent_not_found' || error.code === 'agent_closed';
        return hasClosed ? {} : { notAsked: [{ session_id: session, error: fullError(error.body) }] };
      }
    }),
  );
  const asked = await Promise.all(each);
  return {
    answers: asked.flatMap(({ answers = [] }) => answers),
    notAsked: asked.flatMap(({ notAsked = [] }) => notAsked),
  };
}

const AGAIN_MS = 300;

/**
 * An answer within its time. A worker that has just come, or one that is just going, may let the first try fall.
 *
 * @throws CadreError `no_worker` where it does not come
 */
export async function within<T>(ms: number, session: SessionId, ask: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const late = sleep(ms, undefined, { signal }).then(() => {
    throw new CadreError('no_worker', `Session ${session} has not answered in ${ms / 1_000} s.`, {
      hint: `\`cadre attach ${session}\` works for it, \`cadre worker\` for all local sessions; \`cadre approvals ${session}\` gives it more time`,
      retryable: true,
    });
  });
  try {
    return await Promise.race([persistently(ask, signal), late]);
  } finally {
    over.abort();
    late.catch(() => {});
  }
}

async function persistently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !(error instanceof CadreError) || error.code !== 'no_worker') throw error;
      await sleep(AGAIN_MS, undefined, { signal });
    }
  }
}

/** One line that names all that could not be asked, with what helps; those that the same helps together. */
export function notAskedText(notAsked: readonly NotAsked[], of: number): string {
  const groups = Map.groupBy(notAsked, ({ error }) => error.hint.replace(/\.$/, ''));
  const parts = [...groups].map(
    ([hint, members]) => `${members.map(({ session_id: id }) => id).join(', ')} (${hint})`,
  );
  return `${notAsked.length} of ${counted(of, 'open session')} could not be asked: ${parts.join('; ')}`;
}
