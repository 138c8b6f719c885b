import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../../client/types.ts';
import {
  type AgentId,
  type AgentView,
  CadreError,
  type WireStatus,
  wireStatus,
} from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { oneLine } from '../terminal-text.ts';
import { atAgents, type Workplace } from '../workplace.ts';

interface WaitOptions {
  all?: boolean;
  timeout?: number;
}

/** A one-shot root closes what is below it right after its answer; whoever works for it sees that through. */
const CLOSING_MS = 60_000;
const POLL_MS = 200;

/** Waits until the first of the agents is final, or all are. */
export default function wait(
  invocation: Invocation,
  [references]: [string[]],
  { all, timeout }: WaitOptions,
): Promise<ExitCode> {
  return atAgents(invocation, references, async (place, named) => {
    const ids = [...new Set(named)];
    const stop = new AbortController();
    const undo = onSignals(() => stop.abort('signal'));
    const timer = timeout === undefined ? undefined : setTimeout(() => stop.abort('timeout'), timeout);
    const final = new Map<AgentId, AgentView | 'not_found'>();
    invocation.output.debug(`waiting for ${ids.join(', ')}`);
    try {
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
    return answer(invocation, ids, final, stop.signal.reason === 'timeout');
  });
}

/** The view of an agent that is final; undefined when the signal came first. */
async function settled(
  place: Workplace,
  id: AgentId,
  signal: AbortSignal,
): Promise<AgentView | 'not_found' | undefined> {
  try {
    return await place.withAgent(id, 'act', async (agent) => {
      const view = await agent.wait({ signal });
      if (view === undefined || view.one_shot !== true || view.closed) return view;
      return (await untilClosed(agent, view)) ?? view;
    });
  } catch (error) {
    if (error instanceof CadreError && error.code === 'agent_not_found') return 'not_found';
    throw error;
  }
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
  ids: readonly AgentId[],
  final: ReadonlyMap<AgentId, AgentView | 'not_found'>,
  timedOut: boolean,
): ExitCode {
  const status: Record<string, WireStatus> = {};
  const lines: string[] = [];
  let exitCode: ExitCode = timedOut ? EXIT.ended : EXIT.done;
  for (const id of ids) {
    const view = final.get(id);
    if (view === undefined) continue;
    if (view === 'not_found') {
      status[id] = 'not_found';
      lines.push(`${id} not_found`);
      exitCode = EXIT.notFound;
      continue;
    }
    status[id] = wireStatus(view.status, view.message);
    // Asked for one agent, its answer alone is what a script wants.
    if (ids.length === 1 && view.status === 'completed') lines.push(view.message ?? '');
    else
      lines.push(
        `${id} ${view.status}${view.message === undefined ? '' : `: ${oneLine(view.message, 2_000)}`}`,
      );
    if (view.status !== 'completed' && exitCode === EXIT.done) exitCode = EXIT.errored;
  }
  if (timedOut) lines.push('The time is up; the others still run.');
  output.result({ status, timed_out: timedOut }, lines.join('\n'));
  return exitCode;
}
