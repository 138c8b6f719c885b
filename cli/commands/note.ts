import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { atWorkplace } from '../workplace.ts';

export default function note(
  invocation: Invocation,
  [reference, text]: [string, string | undefined],
): Promise<ExitCode> {
  return atWorkplace(invocation, reference, async (place) => {
    const kept = await place.withAgent(reference, 'answer', (agent) => agent.setNote(text ?? ''));
    invocation.output.result({ agent_id: reference, thread_note: kept }, kept ?? '');
    return EXIT.done;
  });
}
