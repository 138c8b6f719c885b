import type { AgentId, SessionId, Status } from '../../protocol/index.ts';
import { atAgents } from '../at-workplace.ts';
import { type ExitCode, exitCodeOfWait } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { handOverWork } from '../serving/hand-over.ts';
import { oneLine } from '../terminal-text.ts';
import { type Final, statusesOf, waitForAgents } from '../wait-for-agents.ts';
import type { Workplace } from '../workplace.ts';

interface WaitOptions {
  all?: boolean;
  timeout?: number;
}

/** Waits until the first of the agents is final, or all are. */
export default function wait(
  invocation: Invocation,
  [references]: [string[]],
  { all = false, timeout }: WaitOptions,
): Promise<ExitCode> {
  const final: Final = new Map();
  const waitFor = async (place: Workplace, named: AgentId[]): Promise<ExitCode> => {
    const ids = [...new Set(named)];
    const asked = [...final.keys(), ...ids];
    const stop = new AbortController();
    const undo = onSignals(() => stop.abort('signal'));
    invocation.output.debug(`waiting for ${ids.join(', ')}`);
    try {
      // Where agents have something to do and nobody works for them, a worker in the background goes on with it.
      const prepare = (session: SessionId): Promise<void> => handOverWork(invocation, place, session);
      const { timedOut } = await waitForAgents(place, { ids, all, timeout, prepare, stop }, final);
      return answer(invocation, asked, final, timedOut);
    } finally {
      undo();
    }
  };
  return atAgents(invocation, references, waitFor, (unknown) => final.set(unknown, 'not_found'));
}

function answer(
  { output }: Invocation,
  asked: readonly string[],
  final: Readonly<Final>,
  timedOut: boolean,
): ExitCode {
  const lines: string[] = [];
  const ends: Status[] = [];
  for (const id of asked) {
    const view = final.get(id);
    if (view === undefined) continue;
    if (view === 'not_found') {
      ends.push('not_found');
      lines.push(`${id} not_found`);
      continue;
    }
    ends.push(view.status);
    // Asked for one agent, its answer alone is what a script wants.
    if (asked.length === 1 && view.status === 'completed') lines.push(view.message ?? '');
    else
      lines.push(
        `${id} ${view.status}${view.message === undefined ? '' : `: ${oneLine(view.message, 2_000)}`}`,
      );
  }
  if (timedOut) lines.push('The time is up; the others still run.');
  output.result({ status: statusesOf(asked, final), timed_out: timedOut }, lines.join('\n'));
  return exitCodeOfWait(ends, timedOut);
}
