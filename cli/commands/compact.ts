import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

export default function compact(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const { submission_id } = await place.withAgent(id, 'answer', (agent) => agent.compact());
    const text = 'Its model writes a summary before its next step.';
    invocation.output.result({ agent_id: id, submission_id }, text);
    return EXIT.done;
  });
}
