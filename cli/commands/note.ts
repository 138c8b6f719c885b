import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

export default function note(
  invocation: Invocation,
  [reference, text]: [string, string | undefined],
): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const kept = await place.withAgent(id, 'answer', (agent) => agent.setNote(text ?? ''));
    invocation.output.result({ agent_id: id, thread_note: kept }, kept ?? '');
    return EXIT.done;
  });
}
