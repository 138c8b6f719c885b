import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { atWorkplace } from '../workplace.ts';

export default function close(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atWorkplace(invocation, reference, async (place) => {
    const result = await place.withAgent(reference, 'act', (agent) => agent.close());
    invocation.output.result(
      { agent_id: reference, ...result },
      result.closed.length === 0 ? `${reference} was closed already` : `closed ${result.closed.join(', ')}`,
    );
    return EXIT.done;
  });
}
