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
 * @param atOnce so many at the same time: each that nobody works for takes a worker of its own
 */
export async function askSessions<T>(
  sessions: readonly SessionId[],
  ask: (session: SessionId) => Promise<T>,
  atOnce: number,
): Promise<Asked<T>> {
  const limit = pLimit(atOnce);
  const asked: Asked<T> = { answers: [], notAsked: [] };
  const each = sessions.map((session) =>
    limit(async () => {
      try {
        return await ask(session);
      } catch (error) {
        if (!(error instanceof CadreError)) throw error;
        if (error.code !== 'agent_not_found' && error.code !== 'agent_closed')
          asked.notAsked.push({ session_id: session, error: fullError(error.body) });
        return undefined;
      }
    }),
  );
  asked.answers.push(...(await Promise.all(each)).filter((answer) => answer !== undefined));
  return asked;
}

/**
 * An answer within its time.
 *
 * @throws CadreError `no_worker` where it does not come
 */
export async function within<T>(ms: number, session: SessionId, answer: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new CadreError('no_worker', `Session ${session} has not answered in ${ms / 1_000} s.`, {
      hint: '`cadre worker` works for local sessions; `cadre approvals ID` gives one of them more time',
      retryable: true,
    });
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    over.abort();
    late.catch(() => {});
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
