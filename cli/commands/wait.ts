import { setTimeout as sleep } from 'node:timers/promises';
import { isMissing } from '../../client/is-missing.ts';
import type { Agent } from '../../client/types.ts';
import {
  type AgentId,
  type AgentView,
  CadreError,
  localQueue,
  type Status,
  sessionOf,
  type WireStatus,
  wireStatus,
} from '../../protocol/index.ts';
import { atAgents } from '../at-workplace.ts';
import { type ExitCode, exitCodeOfWait } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { handOverWork } from '../serving/hand-over.ts';
import { oneLine } from '../terminal-text.ts';
import type { Workplace } from '../workplace.ts';

interface WaitOptions {
  all?: boolean;
  timeout?: number;
}

/** A one-shot root closes what is below it right after its answer; whoever works for it sees that through. */
const CLOSING_MS = 60_000;
const POLL_MS = 200;
/** How long the worker of a local session may take to come, when all that is left is to look. */
const LAST_LOOK_MS = 10_000;

/** What is known of an agent by its id; of a reference that leads to none, by what was written. */
type Final = Map<string, AgentView | 'not_found'>;

/** Waits until the first of the agents is final, or all are. */
export default function wait(
  invocation: Invocation,
  [references]: [string[]],
  { all, timeout }: WaitOptions,
): Promise<ExitCode> {
  const final: Final = new Map();
  const waitFor = async (place: Workplace, named: AgentId[]): Promise<ExitCode> => {
    const ids = [...new Set(named)];
    const asked = [...final.keys(), ...ids];
    const stop = new AbortController();
    const undo = onSignals(() => stop.abort('signal'));
    const timer = timeout === undefined ? undefined : setTimeout(() => stop.abort('timeout'), timeout);
    if (all !== true && final.size > 0) stop.abort('first');
    invocation.output.debug(`waiting for ${ids.join(', ')}`);
    try {
      const sessions = stop.signal.aborted ? [] : [...new Set(ids.map(sessionOf))];
      await Promise.all(sessions.map((session) => handOverWork(invocation, place, session)));
      const waits = ids.map(async (id) => {
        const view = await settled(place, id, stop.signal);
        if (view === undefined) return;
        final.set(id, view);
        if (all !== true) stop.abort('first');
      });
      await Promise.all(waits);
    } finally {
      clearTimeout(timer);
      undo();
    }
    if (stop.signal.reason === 'signal') {
      throw new CadreError('interrupted', 'Interrupted. What was waited for goes on.', { retryable: true });
    }
    // The time may pass while the last look is under way: what counts is whether something is missing.
    const isMissing = all === true ? ids.some((id) => !final.has(id)) : final.size === 0;
    return answer(invocation, asked, final, stop.signal.reason === 'timeout' && isMissing);
  };
  return atAgents(invocation, references, waitFor, (unknown) => final.set(unknown, 'not_found'));
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

function answer(
  { output }: Invocation,
  asked: readonly string[],
  final: Readonly<Final>,
  timedOut: boolean,
): ExitCode {
  const status: Record<string, WireStatus> = {};
  const lines: string[] = [];
  const ends: Status[] = [];
  for (const id of asked) {
    const view = final.get(id);
    if (view === undefined) continue;
    if (view === 'not_found') {
      status[id] = 'not_found';
      ends.push('not_found');
      lines.push(`${id} not_found`);
      continue;
    }
    status[id] = wireStatus(view.status, view.message);
    ends.push(view.status);
    // Asked for one agent, its answer alone is what a script wants.
    if (asked.length === 1 && view.status === 'completed') lines.push(view.message ?? '');
    else
      lines.push(
        `${id} ${view.status}${view.message === undefined ? '' : `: ${oneLine(view.message, 2_000)}`}`,
      );
  }
  if (timedOut) lines.push('The time is up; the others still run.');
  output.result({ status, timed_out: timedOut }, lines.join('\n'));
  return exitCodeOfWait(ends, timedOut);
}
