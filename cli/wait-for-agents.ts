import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing } from '../client/is-missing.ts';
import type { Agent } from '../client/types.ts';
import {
  type AgentId,
  type AgentView,
  CadreError,
  localQueue,
  type SessionId,
  sessionOf,
  type WireStatus,
  wireStatus,
} from '../protocol/index.ts';
import type { Workplace } from './workplace.ts';

/** A one-shot root closes what is below it right after its answer; whoever works for it sees that through. */
const CLOSING_MS = 60_000;
const POLL_MS = 200;
/** How long the worker of a local session may take to come, when all that is left is to look. */
const LAST_LOOK_MS = 10_000;

/** What is known of an agent by its id; of a reference that leads to none, by what was written. */
export type Final = Map<string, AgentView | 'not_found'>;

/**
 * Why waiting ends: the first is there, the time is up, somebody has to be asked first, or whoever waits is gone.
 * Whatever it is, what is waited for goes on.
 */
export type WaitEnd = 'first' | 'timeout' | 'approval' | 'signal';

export interface AgentsToWaitFor {
  ids: readonly AgentId[];
  /** Until all of them are done; else until the first is. */
  all: boolean;
  /** In ms; none: no end. */
  timeout?: number | undefined;
  /** Sees to it that somebody works for a session. */
  prepare(session: SessionId): Promise<void>;
  /** Ends the waiting, with a `WaitEnd` for its reason. */
  stop: AbortController;
}

/**
 * Waits until agents are final.
 *
 * @param final what is known already is in it; gets what comes
 * @throws CadreError `interrupted` when whoever waits is gone
 */
export async function waitForAgents(
  place: Workplace,
  { ids, all, timeout, prepare, stop }: AgentsToWaitFor,
  final: Final,
): Promise<{ timedOut: boolean }> {
  const end = (why: WaitEnd): void => stop.abort(why);
  const timer = timeout === undefined ? undefined : setTimeout(() => end('timeout'), timeout);
  if (!all && final.size > 0) end('first');
  try {
    const sessions = stop.signal.aborted ? [] : [...new Set(ids.map(sessionOf))];
    await Promise.all(sessions.map((session) => prepare(session)));
    const waits = ids.map(async (id) => {
      const view = await settled(place, id, stop.signal);
      if (view === undefined) return;
      final.set(id, view);
      if (!all) end('first');
    });
    await Promise.all(waits);
  } finally {
    clearTimeout(timer);
  }
  if (stop.signal.reason === 'signal') {
    throw new CadreError('interrupted', 'Interrupted. What was waited for goes on.', { retryable: true });
  }
  // The time may pass while the last look is under way: what counts is whether something is missing.
  const isMissing = all ? ids.some((id) => !final.has(id)) : final.size === 0;
  return { timedOut: stop.signal.reason === 'timeout' && isMissing };
}

/** What agents that were waited for have come to, in the order asked; those that are not final are left out. */
export function statusesOf(asked: readonly string[], final: Readonly<Final>): Record<string, WireStatus> {
  const known = asked.flatMap((id): [string, WireStatus][] => {
    const view = final.get(id);
    if (view === undefined) return [];
    return [[id, view === 'not_found' ? view : wireStatus(view.status, view.message)]];
  });
  return Object.fromEntries(known);
}

/** The view of an agent that is final; undefined when the signal came first. */
async function settled(
  place: Workplace,
  id: AgentId,
  signal: AbortSignal,
): Promise<AgentView | 'not_found' | undefined> {
  try {
    return await place.withAgent(id, 'act', async (agent) => {
      const view = (await agent.wait({ signal })) ?? (await lastLook(agent, signal));
      if (view === undefined || view.one_shot !== true || view.closed || signal.reason === 'timeout')
        return view;
      return (await untilClosed(agent, view)) ?? view;
    });
  } catch (error) {
    if (isMissing(error)) return 'not_found';
    throw error;
  }
}

/** What is final by the end counts, also where the worker that can tell is only just coming. */
async function lastLook(agent: Agent, signal: AbortSignal): Promise<AgentView | undefined> {
  for (const end = Date.now() + LAST_LOOK_MS; signal.reason !== 'signal'; await sleep(POLL_MS)) {
    try {
      const view = await agent.status();
      return view.is_final ? view : undefined;
    } catch (error) {
      if (!(error instanceof CadreError) || error.code !== 'no_worker') throw error;
      const isLocal = (await agent.describe()).queue === localQueue(sessionOf(agent.id));
      if (!isLocal || Date.now() > end) return undefined;
    }
  }
  return undefined;
}

async function untilClosed(agent: Agent, first: AgentView): Promise<AgentView | undefined> {
  if (first.status === 'interrupted') return first;
  for (const end = Date.now() + CLOSING_MS; Date.now() < end; await sleep(POLL_MS)) {
    const view = await agent.status();
    if (view.closed || !view.is_final) return view;
  }
  return undefined;
}
