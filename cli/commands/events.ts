import type { AgentEvent } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { eventLine } from '../render/event-line.ts';
import { handOverWork } from '../serving/hand-over.ts';

export default function events(
  invocation: Invocation,
  [reference]: [string],
  { follow, after }: { follow?: boolean; after?: number },
): Promise<ExitCode> {
  const { output } = invocation;
  return atAgent(invocation, reference, async (place, id) => {
    const stop = new AbortController();
    const undo = onSignals(() => stop.abort());
    const collected: AgentEvent[] = [];
    try {
      // To follow an agent that nobody works for would be to watch nothing.
      const mode = follow === true ? 'act' : 'answer';
      if (mode === 'act') await handOverWork(invocation, place, id);
      await place.withAgent(id, mode, async (agent) => {
        const options = {
          follow: follow === true,
          signal: stop.signal,
          ...(after === undefined ? {} : { after }),
        };
        for await (const event of agent.events(options)) {
          if (output.format === 'jsonl') output.line(event);
          else if (output.format === 'json') collected.push(event);
          else output.text(`${event.seq}  ${event.at}  ${event.type}  ${detail(event)}`);
        }
      });
    } finally {
      undo();
    }
    if (output.format === 'json') output.result({ events: collected }, '');
    return stop.signal.aborted ? EXIT.interrupted : EXIT.done;
  });
}

function detail(event: AgentEvent): string {
  const line = eventLine(event);
  if (line !== undefined) return line.slice(line.indexOf(': ') + 2);
  const { seq, at, agent_id, session_id, type, ...body } = event;
  return JSON.stringify(body);
}
