import { isMissing } from '../client/is-missing.ts';
import { type AgentId, CadreError, type SessionId, sessionOf } from '../protocol/index.ts';
import { cadreHome } from '../server/home.ts';
import type { Config } from './config/schema.ts';
import type { Invocation } from './invocation.ts';
import { sessionNamed } from './references.ts';
import { SessionFiles } from './serving/session-files.ts';
import { Workplace } from './workplace.ts';
import { LastingInvocation } from './workplaces.ts';

/** Opens the workplace for whatever is asked: one of its own, or that of a process which is asked again and again. */
export function openWorkplace(
  invocation: Invocation,
  config?: Config,
  session?: SessionId,
): Promise<Workplace> {
  return invocation instanceof LastingInvocation
    ? invocation.workplaces.open(config, session)
    : Workplace.open(invocation, config, session);
}

/** The end of that: what others may be asked with stays open. */
export function leaveWorkplace(invocation: Invocation, place: Workplace): void {
  if (!(invocation instanceof LastingInvocation)) place.close();
}

/** Opens the workplace for a command that concerns no agent in particular, and closes it behind it. */
export async function atWorkplace<T>(
  invocation: Invocation,
  action: (place: Workplace) => Promise<T>,
  session?: SessionId,
): Promise<T> {
  const place = await openWorkplace(invocation, undefined, session);
  try {
    return await action(place);
  } finally {
    leaveWorkplace(invocation, place);
  }
}

/**
 * The same for a command that concerns an agent, which is named by its id, by `--last`, or by a short reference inside
 * the newest session of this folder.
 *
 * @throws CadreError `agent_not_found` or `agent_ambiguous`
 */
export function atAgent<T>(
  invocation: Invocation,
  reference: string,
  action: (place: Workplace, id: AgentId) => Promise<T>,
): Promise<T> {
  return atAgents(invocation, [reference], (place, [id]) => action(place, id as AgentId));
}

/**
 * The same for a command that concerns several agents.
 *
 * @param unknown is told of each reference that leads to no agent; without it the first one is the command's error
 */
export async function atAgents<T>(
  invocation: Invocation,
  references: readonly string[],
  action: (place: Workplace, ids: AgentId[]) => Promise<T>,
  unknown?: (reference: string) => void,
): Promise<T> {
  const orUnknown = async <R>(reference: string, found: Promise<R>): Promise<R[]> => {
    try {
      return [await found];
    } catch (error) {
      if (unknown === undefined || !isMissing(error)) throw error;
      unknown(reference);
      return [];
    }
  };
  const files = new SessionFiles(cadreHome(invocation.environment));
  const known: { reference: string; session: SessionId }[] = [];
  for (const reference of references) {
    const [session] = await orUnknown(reference, sessionNamed(reference, files, invocation.cwd));
    if (session !== undefined) known.push({ reference, session });
  }
  return atWorkplace(
    invocation,
    async (place) => {
      const ids: AgentId[] = [];
      for (const { reference, session } of known) {
        ids.push(...(await orUnknown(reference, place.agentNamed(reference, session))));
      }
      return action(place, ids).catch(async (error: unknown) => {
        throw await withWayBack(error, place, ids);
      });
    },
    known[0]?.session,
  );
}

/** Of a session that Temporal does not keep, the error says what can be done with its rollout, or where there is none. */
async function withWayBack(error: unknown, place: Workplace, ids: readonly AgentId[]): Promise<unknown> {
  if (!(error instanceof CadreError) || !isMissing(error)) return error;
  const sessions = ids.map(sessionOf);
  const left = sessions.find((id) => place.rollouts.pathOf(id) !== undefined);
  const session = left ?? sessions[0];
  if (session === undefined) return error;
  const describing = place.link.reach((client) => client.get(session).describe());
  // An agent may be unknown in a session that is not.
  if (!(await describing.then(() => false, isMissing))) return error;
  const hint =
    left === undefined
      ? `${error.hint ?? ''} There is no rollout of ${session} in ${place.rollouts.folders.join(' or ')} either ([rollouts] directory, cadre import).`
      : `Temporal keeps the session no longer, but its rollout is here: cadre resume ${session} brings it back, cadre fork goes on from it in a new session, cadre export ${session} prints it.`;
  return new CadreError('agent_not_found', error.message, { hint: hint.trim(), cause: error });
}
